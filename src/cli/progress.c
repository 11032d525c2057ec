#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static bool wanted;
static double started, shown;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void progress_start(bool quiet)
{
	wanted = !quiet && isatty(2);
	started = seconds();
	shown = 0;
}

void progress_tick(struct reader *r, int pass)
{
	uint64_t done, total;
	double now;

	if (!wanted)
		return;
	now = seconds();
	if (now - started < 1 || now - shown < 0.2)
		return;
	shown = now;
	reader_progress(r, &done, &total);
	fprintf(stderr, "\r\033[K%s: %.1f million events", reader_path(r),
		(double)reader_counts(r)->events / 1e6);
	if (total)
		fprintf(stderr, ", %.0f%%", 100.0 * (double)done / (double)total);
	if (pass > 1)
		fprintf(stderr, ", pass %d to explain what was found", pass);
}

void progress_end(void)
{
	if (shown > 0)
		fputs("\r\033[K", stderr);
	shown = 0;
}
