/*
 * The property test of `predict`: on random small traces, it compares the engine
 * with the twin (twin_predict.h).
 *
 *  - Every finding's schedule is legal, contains its three events (four, if there
 *    are two variables) in order and ends with the last of them; the events match
 *    the pattern; and the schedule, written as a trace, is not serializable, by
 *    velodrome's verdict.
 *  - The twin finds each finding possible. If locks are nested, nothing can deadlock
 *    and there are no waits, notifies and barriers, the engine finds everything that
 *    the twin does.
 *  - A finding that the engine calls feasible has a schedule that is a correct
 *    reordering (twin_values.h). If the engine calls it only possible, the twin finds no
 *    correct reordering for its events either: the search for schedules is complete for
 *    traces as short as these.
 *  - The engine looks at some of the events only, so it may miss feasible ones: the test
 *    prints which share it finds of what is feasible by trying all events.
 *  - Of some traces it was worked out by hand which events are feasible (named_predict.h).
 *  - Without the option `all` there is a finding if and only if there is one with it,
 *    and a feasible one if and only if there is one with it.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"
#include "engine/predict/options.h"
#include "named_predict.h"
#include "random_predict.h"
#include "shrink.h"
#include "twin_predict.h"
#include "twin_values.h"

#include "base/banned.h"

/* Counts over all traces, so that no test passes without testing. */
static struct {
	uint64_t traces, with, findings, two, exact, exact_with, unnested, deadlocks, missed;
	uint64_t feasible, only_possible, changed; /* findings; reads changed on purpose */
	uint64_t can, found;                       /* feasible by the twin; found by the engine */
	uint64_t unsearched;                       /* of these, without trying all orders */
	uint64_t can_strict, found_strict;         /* of these, without reads changed on purpose */
	uint64_t verdicts, verdicts_missed;        /* traces in which something is feasible */
} count;

static bool run_predict(const struct trace *t, bool all, bool unsearched, uint64_t seed,
			struct finding_list *out, struct str *what)
{
	const struct predict_options options = {.vars = 2, .all = all, .unsearched = unsearched};
	struct contender who = {"predict", engine_by_name("predict"), &options};

	return drive(&who, t, seed, out, what);
}

/* Is the finding's schedule, as a trace, not serializable, by velodrome's verdict? */
static bool is_schedule_unserializable(const struct trace *t, const struct finding *f,
				       uint64_t seed, struct str *what)
{
	struct contender velodrome = {"velodrome", engine_by_name("velodrome"), NULL};
	struct trace other = {.style = t->style};
	struct finding_list said = {0};
	bool yes = false;

	for (size_t i = 0; i < f->nschedule; i++) {
		const struct event *e = &t->ev[f->schedule[i] - 1];

		trace_add(&other, e->thread, (enum op)e->op, e->operand);
	}
	if (!trace_legal(&other)) {
		str_add(what, "as a trace, its schedule is not legal");
	} else {
		trace_canonical(&other);
		if (drive(&velodrome, &other, seed, &said, what)) {
			yes = said.n > 0;
			if (!yes)
				str_add(what, "velodrome does not object to its schedule");
		}
		drive_free(&said);
	}
	trace_free(&other);
	return yes;
}

/* Is what the engine says about the finding's feasibility right? */
static bool check_feasible(const struct twin_predict *w, const struct finding *f,
			   const uint64_t *steps, bool complete, struct str *what)
{
	bool can = twin_values_feasible(w, steps, f->nsteps, false);
	uint64_t changed = 0;

	if (f->feasible == FEASIBLE_YES) {
		count.feasible++;
		if (!twin_values_correct(w, f->schedule, f->nschedule, steps, f->nsteps, &changed,
					 what))
			return false;
		count.changed += changed;
		if (!can)
			str_add(what, "the twin does not find the feasible schedule");
		return can;
	}
	count.only_possible++;
	if (f->feasible != FEASIBLE_NO || (can && complete)) {
		str_fmt(what, "%lu, %lu, %lu are feasible, but not by the engine",
			(unsigned long)steps[0], (unsigned long)steps[1], (unsigned long)steps[2]);
		return false;
	}
	return true;
}

static bool check_finding(const struct twin_predict *w, const struct finding *f, uint64_t seed,
			  bool complete, struct str *what)
{
	uint64_t steps[TWIN_STEPS] = {0};
	bool two = f->nsteps == 4;

	if ((f->nsteps != 3 && !two) || !f->pattern || !f->nschedule ||
	    f->status != FINDING_PREDICTED) {
		str_add(what, "not three or four steps, a pattern and a schedule");
		return false;
	}
	for (size_t i = 0; i < f->nsteps; i++)
		steps[i] = f->steps[i].event;
	if (strlen(f->pattern) != 2 * f->nsteps - 1 ||
	    !(two ? twin_two_fits : twin_predict_fits)(w, steps, f->pattern)) {
		str_fmt(what, "%lu, %lu, %lu, %lu are not %s", (unsigned long)steps[0],
			(unsigned long)steps[1], (unsigned long)steps[2], (unsigned long)steps[3],
			f->pattern);
		return false;
	}
	return twin_predict_legal(w, f->schedule, f->nschedule, steps, f->nsteps, what) &&
	       is_schedule_unserializable(w->t, f, seed, what) &&
	       check_feasible(w, f, steps, complete, what);
}

static int pattern_number(const char *const *patterns, const char *pattern)
{
	int k = 0;

	while (strcmp(patterns[k], pattern))
		k++;
	return k;
}

/*
 * Must the engine find everything? It need not with waits, notifies and barriers: these order
 * events that are in the same state for the engine, and it keeps only some of those.
 */
static bool is_exact(const struct twin_predict *w)
{
	for (size_t i = 0; i < w->t->n; i++)
		if (w->t->ev[i].op >= OP_WAIT && w->t->ev[i].op <= OP_BARRIER)
			return false;
	return w->nested && w->deadlock_free;
}

/* Writes the engine's findings into `got`, in the form of the twin's result. */
static void collect(const struct twin_predict *w, const struct finding_list *said,
		    struct twin_predict *got)
{
	memset(got->can, 0, sizeof got->can);
	memset(got->can_two, 0, sizeof got->can_two);
	for (size_t i = 0; i < said->n; i++) {
		const struct finding *f = said->v[i];
		const struct event *e = &w->t->ev[f->steps[0].event - 1];
		const struct event *x = &w->t->ev[f->steps[1].event - 1];
		const struct event *y = &w->t->ev[f->steps[2].event - 1];

		if (f->nsteps == 3)
			got->can[e->operand][e->thread][x->thread]
				[pattern_number(twin_pattern, f->pattern)] = true;
		else
			got->can_two[e->operand][y->operand][e->thread][x->thread]
				    [pattern_number(twin_two, f->pattern)] = true;
		count.two += f->nsteps == 4;
	}
}

/* Does the same as compare_with_twin() for patterns of two variables. */
static bool compare_two_with_twin(const struct twin_predict *w, const struct twin_predict *got,
				  bool exact, bool *complete, struct str *what)
{
	const bool *can = &w->can_two[0][0][0][0][0], *mine = &got->can_two[0][0][0][0][0];

	for (size_t i = 0; i < sizeof w->can_two; i++) {
		if (mine[i] == can[i])
			continue;
		*complete = false;
		if (!exact && !mine[i])
			continue;
		str_fmt(what, "x%zu and x%zu, T%zu cut by T%zu, %s: %s",
			i / TWIN_TWO / TWIN_THREADS / TWIN_THREADS / TWIN_VARS,
			i / TWIN_TWO / TWIN_THREADS / TWIN_THREADS % TWIN_VARS,
			i / TWIN_TWO / TWIN_THREADS % TWIN_THREADS, i / TWIN_TWO % TWIN_THREADS,
			twin_two[i % TWIN_TWO],
			mine[i] ? "found, but not possible" : "possible, but not found");
		return false;
	}
	return true;
}

/* Compares the engine's findings with the twin's. */
static bool compare_with_twin(const struct twin_predict *w, const struct finding_list *said,
			      struct str *what)
{
	static struct twin_predict got;
	bool exact = is_exact(w), complete = true;

	collect(w, said, &got);
	if (!compare_two_with_twin(w, &got, exact, &complete, what))
		return false;
	for (uint32_t x = 0; x < TWIN_VARS; x++)
		for (uint32_t a = 0; a < TWIN_THREADS; a++)
			for (uint32_t b = 0; b < TWIN_THREADS; b++)
				for (int k = 0; k < TWIN_PATTERNS; k++) {
					bool mine = got.can[x][a][b][k];

					if (mine == w->can[x][a][b][k])
						continue;
					complete = false;
					if (!exact && !mine)
						continue;
					str_fmt(what, "x%u, T%u cut by T%u, %s: %s", x, a, b,
						twin_pattern[k],
						mine ? "found, but not possible"
						     : "possible, but not found");
					return false;
				}
	count.missed += !complete;
	return true;
}

/* Is there a feasible finding like this: of these threads and variables, with this pattern? */
static bool was_found(const struct twin_predict *w, const struct finding_list *said,
		      const uint64_t *steps, size_t nsteps, const char *pattern)
{
	for (size_t i = 0; i < said->n; i++) {
		const struct finding *f = said->v[i];
		bool same = f->feasible == FEASIBLE_YES && f->nsteps == nsteps &&
			    !strcmp(f->pattern, pattern);

		for (size_t k = 0; k < nsteps && same; k++) {
			const struct event *x = &w->t->ev[f->steps[k].event - 1];
			const struct event *y = &w->t->ev[steps[k] - 1];

			same = x->thread == y->thread && x->operand == y->operand;
		}
		if (same)
			return true;
	}
	return false;
}

/*
 * Counts what is feasible in patterns of one variable: combinations of variable, threads and
 * pattern for which some events have a correct reordering.
 */
static void count_share(const struct twin_predict *w, const struct finding_list *said,
			const struct finding_list *direct, bool strict)
{
	bool done[TWIN_VARS][TWIN_THREADS][TWIN_THREADS][TWIN_PATTERNS] = {0};
	const struct event *ev = w->t->ev;
	uint64_t can = 0, found = 0;

	for (uint64_t a = 1; a <= w->t->n; a++)
		for (uint64_t b = a + 1; b <= w->t->n; b++)
			for (uint64_t f = 1; f <= w->t->n; f++)
				for (int k = 0; k < TWIN_PATTERNS; k++) {
					uint64_t steps[3] = {a, f, b};
					bool *seen;

					if (!twin_predict_fits(w, steps, twin_pattern[k]))
						continue;
					seen = &done[ev[a - 1].operand][ev[a - 1].thread]
						    [ev[f - 1].thread][k];
					if (*seen || !twin_values_feasible(w, steps, 3, strict))
						continue;
					*seen = true;
					can++;
					found += was_found(w, said, steps, 3, twin_pattern[k]);
					if (!strict)
						count.unsearched += was_found(w, direct, steps, 3,
									      twin_pattern[k]);
				}
	*(strict ? &count.can_strict : &count.can) += can;
	*(strict ? &count.found_strict : &count.found) += found;
	if (!strict) {
		count.verdicts += can > 0;
		count.verdicts_missed += can && !found;
	}
}

static size_t count_feasible(const struct finding_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i]->feasible == FEASIBLE_YES;
	return n;
}

/* Runs all checks on the trace. Returns whether it passed; otherwise `what` says why not. */
static bool check_trace(const struct trace *t, uint64_t seed, struct str *what)
{
	static struct twin_predict w;
	struct finding_list said = {0}, fewer = {0}, direct = {0};
	bool ok = false;

	if (!twin_predict(&w, t)) {
		str_add(what, "too large for the twin");
		return true;
	}
	if (run_predict(t, true, false, seed, &said, what) &&
	    run_predict(t, false, false, seed, &fewer, what) &&
	    run_predict(t, true, true, seed, &direct, what)) {
		ok = true;
		for (size_t i = 0; i < said.n && ok; i++)
			ok = check_finding(&w, said.v[i], seed, true, what);
		for (size_t i = 0; i < fewer.n && ok; i++)
			ok = check_finding(&w, fewer.v[i], seed, true, what);
		for (size_t i = 0; i < direct.n && ok; i++)
			ok = check_finding(&w, direct.v[i], seed, false, what);
		ok = ok && compare_with_twin(&w, &said, what);
		if (ok && !said.n != !fewer.n) {
			str_add(what, "without --all the verdict is another");
			ok = false;
		}
		if (ok && !count_feasible(&said) != !count_feasible(&fewer)) {
			str_add(what, "without --all feasibility is another");
			ok = false;
		}
		count_share(&w, &said, &direct, false);
		count_share(&w, &said, &direct, true);
	}
	count.traces++;
	count.with += said.n > 0;
	count.findings += said.n;
	count.exact += is_exact(&w);
	count.exact_with += is_exact(&w) && said.n;
	count.unnested += !w.nested;
	count.deadlocks += !w.deadlock_free;
	drive_free(&said);
	drive_free(&fewer);
	drive_free(&direct);
	return ok;
}

static bool still_fails(void *arg, const struct trace *t)
{
	struct str what = STR_INIT;
	bool ok = check_trace(t, *(uint64_t *)arg, &what);

	str_free(&what);
	return !ok;
}

static bool run_seed(uint64_t seed)
{
	struct str what = STR_INIT, text = STR_INIT;
	struct trace t = {0};
	bool ok;

	random_predict(&t, seed);
	ok = check_trace(&t, seed, &what);
	if (!ok) {
		printf("FAILED: seed %" PRIu64 ": %s\n", seed, what.s);
		shrink(&t, still_fails, &seed);
		str_reset(&what);
		check_trace(&t, seed, &what);
		trace_print(&t, &text);
		printf("shrunk to %zu events: %s\n%s", t.n, what.s, text.s);
	}
	str_free(&what);
	str_free(&text);
	trace_free(&t);
	return ok;
}

/* Returns the finding about these events; NULL: there is none. */
static const struct finding *find_steps(const struct finding_list *said, const uint64_t *steps)
{
	for (size_t i = 0; i < said->n; i++) {
		const struct finding *f = said->v[i];
		size_t k = 0;

		while (k < f->nsteps && f->steps[k].event == steps[k])
			k++;
		if (k == f->nsteps && (k == TWIN_STEPS || !steps[k]))
			return f;
	}
	return NULL;
}

/* Do twin and engine say of a trace what was worked out by hand? */
static bool check_named(const struct named_trace *named, struct str *what)
{
	static struct twin_predict w;
	size_t nsteps = named->step[3] ? 4 : 3;
	struct trace t = {.style = named->style};
	struct finding_list said = {0};
	const struct finding *f = NULL;
	struct err err = {0};

	if (trace_parse(&t, named->text, &err))
		str_fmt(what, "%s", err.text);
	else if (!twin_predict(&w, &t))
		str_add(what, "too large for the twin");
	else if (twin_values_feasible(&w, named->step, nsteps, false) != named->feasible)
		str_add(what, "the twin says something else");
	else if (run_predict(&t, true, false, 1, &said, what)) {
		f = find_steps(&said, named->step);
		if (!f)
			str_add(what, "the engine does not find the events");
		else if ((f->feasible == FEASIBLE_YES) != named->feasible)
			str_add(what, "the engine says something else");
	}
	drive_free(&said);
	trace_free(&t);
	return f && !what->n;
}

/* Returns how many named traces fail. */
static uint64_t check_all_named(void)
{
	uint64_t failed = 0;

	for (size_t i = 0; i < nnamed_traces; i++) {
		struct str what = STR_INIT;

		if (!check_named(&named_traces[i], &what)) {
			printf("FAILED: %s: %s\n", named_traces[i].name, what.s);
			failed++;
		}
		str_free(&what);
	}
	return failed;
}

static uint64_t parse_number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (!*s || *end) {
		fprintf(stderr, "test_predict: not a number: '%s'\n", s);
		exit(2);
	}
	return n;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

/* Were the traces varied enough to test anything? */
static bool were_varied_enough(void)
{
	printf("%" PRIu64 " traces, %" PRIu64 " with findings (%" PRIu64 " in all, %" PRIu64
	       " on two variables); %" PRIu64 " where nothing may be missed, %" PRIu64
	       " of them with findings; %" PRIu64 " not nested, %" PRIu64 " can deadlock; %" PRIu64
	       " traces not found completely\n",
	       count.traces, count.with, count.findings, count.two, count.exact, count.exact_with,
	       count.unnested, count.deadlocks, count.missed);
	printf("%" PRIu64 " findings are feasible, %" PRIu64 " only possible; %" PRIu64
	       " reads changed on purpose\n",
	       count.feasible, count.only_possible, count.changed);
	printf("of %" PRIu64 " feasible combinations of variable, threads and pattern %" PRIu64
	       " were found (%.1f %%), %" PRIu64
	       " without trying all orders (%.1f %%); without reads changed on purpose, of %" PRIu64
	       " %" PRIu64 " (%.1f %%); of %" PRIu64 " traces with one, %" PRIu64
	       " have no finding of it\n",
	       count.can, count.found, percent(count.found, count.can), count.unsearched,
	       percent(count.unsearched, count.can), count.can_strict, count.found_strict,
	       percent(count.found_strict, count.can_strict), count.verdicts,
	       count.verdicts_missed);
	if (count.traces < 1000)
		return true;
	if (count.exact_with < count.traces / 20 || count.two < count.traces / 4 ||
	    count.unnested < count.traces / 100 || count.deadlocks < count.traces / 100 ||
	    count.with > count.traces * 4 / 5 || count.feasible < count.traces / 10 ||
	    count.only_possible < count.traces / 10 || count.changed < count.traces / 50) {
		printf("FAILED: the traces are too much alike to test anything\n");
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	uint64_t traces = 3000, first = 1, passed = 0, failed = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?') {
			fputs("usage: test_predict [--count N] [--seed S]\n", stderr);
			return 2;
		}
		*(c == 'c' ? &traces : &first) = parse_number(optarg);
	}
	failed = check_all_named();
	passed = nnamed_traces - failed;
	for (uint64_t seed = first; seed - first < traces && !failed; seed++) {
		if (run_seed(seed))
			passed++;
		else
			failed++;
	}
	if (!were_varied_enough() && !failed)
		failed++;
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed ? 1 : 0;
}
