#include "cli/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/blockspec.h"
#include "cli/progress.h"
#include "cli/trace_open.h"
#include "engine/engine.h"

#include "base/banned.h"

/* An event of the schedule: its number, and where in the schedule it stands. */
struct wanted {
	uint64_t event;
	size_t at;
};

static int by_event(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

/* The numbers, sorted by event. */
static struct wanted *predict(const char *path, uint64_t number, bool lenient, size_t *n,
			      struct err *err)
{
	struct reader_options ropt = {.lenient = lenient, .rewindable = true};
	struct reader *r = blockspec_open(path, &ropt, err);
	struct engine_options options = {0};
	struct engine_result result;
	struct wanted *v = NULL;

	if (!r)
		return NULL;
	progress_start(false);
	engine_run(engine_by_name("predict"), &options, r, false, progress_tick, &result, err);
	progress_end();
	blockspec_drop(r, &result.findings);
	if (!err_is_set(err) && (!number || number > result.findings.n)) {
		err_fail(err, "%s: predict has %zu finding%s, there is no number %llu", path,
			 result.findings.n, result.findings.n == 1 ? "" : "s",
			 (unsigned long long)number);
	} else if (!err_is_set(err)) {
		const struct finding *f = result.findings.v[number - 1];

		*n = f->nschedule;
		v = mem_alloc(*n * sizeof *v);
		for (size_t i = 0; i < *n; i++)
			v[i] = (struct wanted){f->schedule[i], i};
		qsort(v, *n, sizeof *v, by_event);
	}
	engine_result_free(&result);
	trace_close(r);
	return v;
}

int schedule_read(struct schedule *s, const char *path, uint64_t number, bool lenient,
		  struct err *err)
{
	/* Repeated acquires are part of a thread's events, though no engine sees them. */
	struct reader_options ropt = {.lenient = lenient, .keep_repeats = true};
	struct event *ev;
	struct wanted *want;
	uint64_t event = 1;
	size_t next = 0;
	int n = 0;

	*s = (struct schedule){0};
	if (!strcmp(path, "-"))
		return err_fail(err, "a schedule needs a file: standard input is read only once");
	want = predict(path, number, lenient, &s->n, err);
	if (!want)
		return -1;
	s->reader = blockspec_open(path, &ropt, err);
	if (!s->reader) {
		mem_free(want);
		return -1;
	}
	s->ev = mem_alloc(s->n * sizeof *s->ev);
	ev = mem_alloc(READER_BATCH * sizeof *ev);
	while (next < s->n && (n = reader_next(s->reader, ev, err)) > 0)
		for (int i = 0; i < n; i++, event++)
			if (next < s->n && want[next].event == event)
				s->ev[want[next++].at] = ev[i];
	mem_free(ev);
	mem_free(want);
	if (next == s->n)
		return 0;
	schedule_free(s);
	return n < 0 ? -1 : err_fail(err, "%s: it has changed while it was read", path);
}

void schedule_free(struct schedule *s)
{
	trace_close(s->reader);
	mem_free(s->ev);
	*s = (struct schedule){0};
}
