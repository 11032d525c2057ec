#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/banned.h"

static bool wanted;
static double started, shown;

void progress_start(bool quiet)
{
	wanted = !quiet && isatty(2);
	started = clock_seconds();
	shown = 0;
}

void progress_tick(struct reader *r, int pass)
{
	uint64_t done, total;
	double now;

	if (!wanted)
		return;
	now = clock_seconds();
	if (now - started < 1 || now - shown < 0.2)
		return;
	shown = now;
	reader_progress(r, &done, &total);
	fprintf(stderr, "\r\033[K%s: %.1f million events", reader_path(r),
		(double)reader_counts(r)->events / 1e6);
	if (total)
		fprintf(stderr, ", %.0f%%", 100.0 * (double)done / (double)total);
	if (pass > 1)
		fprintf(stderr, ", pass %d to explain the findings", pass);
}

void progress_end(void)
{
	if (shown > 0)
		fputs("\r\033[K", stderr);
	shown = 0;
}

const struct reporter_progress progress_functions = {progress_start, progress_tick, progress_end};
