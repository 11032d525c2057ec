#include "cli/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/blockspec.h"
#include "cli/progress.h"
#include "cli/trace_open.h"
#include "engine/context.h"
#include "engine/engine.h"
#include "report/learned.h"
#include "report/left_out.h"
#include "report/shown.h"

#include "base/banned.h"

/* An event of the schedule: its number, and its position in the schedule. */
struct wanted {
	uint64_t event;
	size_t at;
};

static int by_event(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

/* The finding of a run with this rank; of other traces, the one at this position. NULL: none. */
static struct finding **find_number(struct finding_list *l, uint64_t number)
{
	struct finding **found = NULL;
	bool run = l->n && l->v[0]->recorded;

	for (size_t i = 0; i < l->n && !found; i++)
		if (run ? l->v[i]->rank == number : i + 1 == number)
			found = &l->v[i];
	return found;
}

/* Finds the finding, for s->findings. */
static int predict_finding(struct schedule *s, const char *path, const struct schedule_asked *asked,
			   bool lenient, struct err *err)
{
	struct reader_options ropt = {.lenient = lenient, .rewindable = true};
	struct reader *r = blockspec_open(path, &ropt, err);
	struct engine_result result;
	struct finding **f;

	if (!r)
		return -1;
	progress_start(false);
	engine_run(engine_by_name("predict"), &asked->predict, r, false, progress_tick, &result,
		   err);
	progress_end();
	left_out_drop(r, &result.findings);
	context_add(&result, 1, r);
	left_out_drop_regions(r, &result.findings);
	learned_note_all(r, &result.findings);
	shown_select(&result.findings, true, false);
	f = find_number(&result.findings, asked->number);
	if (!err_is_set(err) && !f) {
		err_fail(err, "%s: predict has %zu finding%s, so there is no number %llu", path,
			 result.findings.n, result.findings.n == 1 ? "" : "s",
			 (unsigned long long)asked->number);
	} else if (!err_is_set(err)) {
		finding_list_init(&s->findings, true);
		s->findings.sink.emit(&s->findings.sink, *f);
		*f = finding_new(); /* take ownership */
	}
	engine_result_free(&result);
	trace_close(r);
	return err_is_set(err) ? -1 : 0;
}

/* Returns the events' numbers and their positions in the schedule, in the order of the trace. */
static struct wanted *sort_events(struct schedule *s)
{
	const struct finding *f = s->findings.v[0];
	struct wanted *v;

	s->n = f->nschedule;
	s->number = mem_alloc(s->n * sizeof *s->number);
	v = mem_alloc(s->n * sizeof *v);
	for (size_t i = 0; i < s->n; i++) {
		s->number[i] = f->schedule[i];
		v[i] = (struct wanted){f->schedule[i], i};
	}
	qsort(v, s->n, sizeof *v, by_event);
	return v;
}

int schedule_read(struct schedule *s, const char *path, const struct schedule_asked *asked,
		  bool lenient, struct err *err)
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
	if (predict_check(&asked->predict, err) || predict_finding(s, path, asked, lenient, err))
		return -1;
	s->reader = blockspec_open(path, &ropt, err);
	if (!s->reader) {
		schedule_free(s);
		return -1;
	}
	want = sort_events(s);
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
	return n < 0 ? -1 : err_fail(err, "%s: the file changed while it was read", path);
}

void schedule_free(struct schedule *s)
{
	if (s->reader)
		trace_close(s->reader);
	mem_free(s->ev);
	mem_free(s->number);
	finding_list_free(&s->findings);
	*s = (struct schedule){0};
}
