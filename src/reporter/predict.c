/*
 * Prediction: the process was recorded, and the engines read that recording like any other. What
 * `frontier` finds happened in this run; what `predict` finds could have.
 */
#include <string.h>

#include "base/note.h"
#include "base/str.h"
#include "engine/context.h"
#include "report/group.h"
#include "report/learned.h"
#include "report/left_out.h"
#include "report/shown.h"
#include "reporter/reporter_impl.h"

#include "base/banned.h"

/* The user waits for the program to end, so the search is stopped after some seconds. */
#define EFFORT (1ull << 30)

int predict_take_run(struct reporter_process *p, size_t n, struct err *err)
{
	if (p->ended)
		return err_fail(err, "it sent a RUN after END");
	if (n)
		return err_fail(err, "it sent a RUN of %zu bytes", n);
	if (p->run >= 0)
		return err_fail(err, "it sent RUN twice");
	p->run = p->passed;
	p->passed = -1;
	if (p->run < 0)
		reporter_mark_incomplete(p->session, "a process could not be recorded");
	return 0;
}

/*
 * Adds findings, a cause at a time, the most important first. Their event numbers mean nothing
 * outside of the recording.
 */
static void add_findings(struct reporter_process *p, struct finding_list *l)
{
	struct groups groups;

	shown_select(l, true, p->session->o.all);
	groups = shown_groups(l);

	for (size_t i = 0; i < groups.n; i++) {
		/* With an answer, no text is held back. */
		struct live_finding head = {.key = groups.v[i].v[0]->fingerprint, .answer = 1};
		struct finding **v = (struct finding **)groups.v[i].v;

		for (size_t k = 0; k < groups.v[i].n; k++) {
			v[k]->live = true;
			event_numbers_compact(v[k]);
		}
		findings_add(p, &head, v, groups.v[i].n, false);
	}
	group_free(&groups);
	l->n = 0; /* they belong to the session now */
}

static bool gave_up(const struct engine_result *res)
{
	for (size_t i = 0; i < res->nstats; i++)
		if (!strcmp(res->stats[i].name, "gave_up"))
			return res->stats[i].value;
	return false;
}

/* Runs one engine over the recording. Returns 0, or -1 with a sentence in `err`. */
static int run_engine(struct reporter_process *p, struct reader *r, const char *engine,
		      const void *options, struct engine_result *res, struct err *err)
{
	const struct reporter_options *o = &p->session->o;
	int rc;

	if (o->progress)
		o->progress->start(p->verbosity < 0);
	rc = engine_run(engine_by_name(engine), options, r, o->all,
			o->progress ? o->progress->tick : NULL, res, err);
	if (o->progress)
		o->progress->end();
	left_out_drop(r, &res->findings);
	context_add(res, 1, r);
	left_out_drop_regions(r, &res->findings);
	learned_note_all(r, &res->findings);
	return rc;
}

/* Keeps the names of functions that turned out not to be blocks, for -v. */
static void keep_left_out(struct reporter *s, struct reader *r)
{
	const struct block_left_out *v;
	struct str name = STR_INIT;
	size_t n = reader_left_out(r, &v);

	for (size_t i = 0; i < n; i++) {
		if (v[i].reason != BLOCK_WAITS && v[i].reason != BLOCK_SAID_NOT)
			continue;
		str_reset(&name);
		names_add_string(reader_names(r), v[i].label, &name);
		left_out_add(&s->out, name.s);
	}
	str_free(&name);
}

static int find_both(struct reporter_process *p, struct reader *r, struct err *err)
{
	struct reporter *s = p->session;
	struct predict_options options = s->o.predict;
	struct engine_result res = {0};
	int rc = run_engine(p, r, "frontier", NULL, &res, err);

	s->total.transactions += res.counts.transactions;
	s->total.threads += (uint32_t)reader_names(r)->table[NAMES_THREAD].n;
	keep_left_out(s, r);
	add_findings(p, &res.findings);
	engine_result_free(&res);
	if (rc || reader_rewind(r, err))
		return -1;
	options.all = s->o.all;
	options.lean = true;
	/* Text shows no schedule: the user has no recording to look the events up in. */
	options.unscheduled = !s->o.format->context;
	options.effort = EFFORT;
	rc = run_engine(p, r, "predict", &options, &res, err);
	if (gave_up(&res))
		note("process %d: the search was cut short because it took too long; there may be "
		     "more findings",
		     (int)p->pid);
	if (!res.findings.n && !predict_has_pairs(&options))
		outside_read(&s->outside, r);
	add_findings(p, &res.findings);
	engine_result_free(&res);
	return rc;
}

void predict_from_run(struct reporter_process *p)
{
	struct err err = {0};
	struct reader *r;

	if (p->run < 0)
		return;
	r = recording_open(p, p->run, "the run", false, spec_rules(p->spec), &err);
	p->run = -1;
	if (r) {
		find_both(p, r, &err);
		recording_close(r);
	}
	if (err_is_set(&err))
		note("process %d: %s", (int)p->pid, err.text);
}
