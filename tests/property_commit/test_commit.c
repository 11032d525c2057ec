/*
 * The property test of `commit-conflict` and `commit-view`:
 *
 *  - named cases;
 *  - random pairs of transactions, compared with all their runs (brute.h): the
 *    engines must be exact;
 *  - random forests, compared with the paper's own test (paper.h);
 *  - random mixtures, compared with all their runs: no violation may be missed; the
 *    rate of false alarms is printed.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "brute.h"
#include "drive.h"
#include "paper.h"
#include "random_segments.h"
#include "shrink.h"

#include "base/banned.h"

enum { MAX_RUNS = 300000 };

/* Counts of traces for one engine in one kind of test. */
struct tally {
	uint64_t judged, atomic, said, false_alarms;
};

struct counts {
	uint64_t traces, deadlocks, too_many;
	uint64_t reduced; /* transactions that reduction accepts */
	struct tally conflict, view;
};

struct judge {
	struct contender conflict, view, reduction;
	enum random_segments what;
	uint64_t seed;
	struct str text; /* errors on the last trace; empty if there were none */
	struct counts *counts;
};

/* ---- findings ---- */

static uint32_t number_of(const char *name)
{
	return (uint32_t)strtoul(name + 1, NULL, 10);
}

static bool is_right_step(const struct trace *t, const struct finding_step *s)
{
	const struct event *e;

	if (!s->event || s->event > t->n)
		return false;
	e = &t->ev[s->event - 1];
	return number_of(s->thread) == e->thread && op_is_access(e->op) &&
	       !strcmp(s->op, op_info[e->op].spelling) && number_of(s->operand) == e->operand;
}

/* Does the event belong to the block that begins with event `begin`? */
static bool is_in_block(const struct trace *t, uint64_t event, uint64_t begin)
{
	unsigned depth = 0;

	for (uint64_t i = begin; i <= event; i++) {
		if (t->ev[i - 1].thread != t->ev[begin - 1].thread)
			continue;
		depth += (t->ev[i - 1].op == OP_BEGIN) - (t->ev[i - 1].op == OP_END);
		if (!depth)
			return false;
	}
	return event >= begin && t->ev[event - 1].thread == t->ev[begin - 1].thread;
}

static bool conflict(const struct trace *t, uint64_t a, uint64_t b)
{
	const struct event *e = &t->ev[a - 1], *f = &t->ev[b - 1];

	return e->operand == f->operand && (e->op != OP_READ || f->op != OP_READ);
}

/*
 * The steps must begin and end with accesses of the finding's transaction; all others must be of
 * the transactions in `with`; and the first and last two steps must conflict.
 */
static void judge_finding(struct judge *j, const struct trace *t, const struct finding *f)
{
	uint64_t begin = f->transaction.begin;
	bool right =
		f->nsteps >= 3 && begin && f->nwith && f->event == f->steps[f->nsteps - 1].event;

	for (size_t i = 0; i < f->nsteps && right; i++) {
		bool mine = is_in_block(t, f->steps[i].event, begin), named = mine;

		right = is_right_step(t, &f->steps[i]) && mine == (i == 0 || i == f->nsteps - 1);
		for (size_t k = 0; k < f->nwith; k++)
			named |= !strcmp(f->with[k].thread, f->steps[i].thread) &&
				 f->with[k].begin == f->steps[i].begin;
		right &= named;
	}
	right = right && f->steps[0].event < f->steps[f->nsteps - 1].event;
	if (right) {
		uint64_t a = f->steps[0].event, b = f->steps[f->nsteps - 1].event;
		uint64_t u = f->steps[1].event, v = f->steps[f->nsteps - 2].event;

		/* With one other transaction, its two accesses stand in their own order. */
		right = (conflict(t, a, u) && conflict(t, v, b)) ||
			(f->nwith == 1 && conflict(t, a, v) && conflict(t, u, b));
	}
	if (!right)
		str_fmt(&j->text, "the finding about event %" PRIu64 " has steps that do not fit\n",
			begin);
}

static size_t run_engine(struct judge *j, const struct contender *who, const struct trace *t,
			 bool flagged[PAPER_THREADS])
{
	struct finding_list said;
	size_t n;

	memset(flagged, 0, PAPER_THREADS * sizeof *flagged);
	if (!drive(who, t, j->seed, &said, &j->text))
		str_addc(&j->text, '\n');
	for (size_t i = 0; i < said.n; i++) {
		judge_finding(j, t, said.v[i]);
		flagged[number_of(said.v[i]->transaction.thread)] = true;
	}
	n = said.n;
	drive_free(&said);
	return n;
}

/* ---- the three kinds ---- */

static void judge_against_runs(struct judge *j, const struct contender *who, const struct trace *t,
			       const struct brute *b, bool atomic, struct tally *tally)
{
	bool flagged[PAPER_THREADS];
	bool said = run_engine(j, who, t, flagged) > 0;
	bool exact = j->what == RANDOM_PAIR && !b->deadlocks;

	if (!atomic && !said)
		str_fmt(&j->text, "%s missed it\n", who->name);
	if (exact && atomic && said)
		str_fmt(&j->text, "%s: a false alarm on a pair\n", who->name);
	if (b->deadlocks)
		return;
	tally->judged++;
	tally->atomic += atomic;
	tally->said += said;
	tally->false_alarms += atomic && said;
}

static void judge_against_paper(struct judge *j, const struct contender *who, const struct trace *t,
				bool view, struct tally *tally)
{
	static struct paper p;
	bool flagged[PAPER_THREADS], any = false, several = false;

	run_engine(j, who, t, flagged);
	paper_judge(&p, t, view);
	for (size_t i = 0; i < p.nthreads; i++) {
		any |= flagged[i];
		several |= p.commit_nodes[i] > 1;
		if (flagged[i] != p.on_cycle[i])
			str_fmt(&j->text, "%s: T%zu is %son a cycle, says the paper\n", who->name,
				i, p.on_cycle[i] ? "" : "not ");
		if (p.on_cycle[i] && p.commit_nodes[i] < 2)
			str_fmt(&j->text, "%s: T%zu on a cycle with one commit node\n", who->name,
				i);
	}
	tally->judged++;
	tally->said += any;
	tally->atomic += several && !any; /* only the paper's second step accepts these */
}

/* Theorem 6.1: a transaction that reduction accepts has at most one commit node. */
static void judge_reduction(struct judge *j, const struct trace *t)
{
	static struct paper p;
	bool flagged[PAPER_THREADS] = {false};
	struct finding_list said;

	if (!drive(&j->reduction, t, j->seed, &said, &j->text))
		str_addc(&j->text, '\n');
	for (size_t i = 0; i < said.n; i++)
		flagged[number_of(said.v[i]->transaction.thread)] = true;
	drive_free(&said);
	paper_judge(&p, t, false);
	for (size_t i = 0; i < p.nthreads; i++) {
		j->counts->reduced += !flagged[i];
		if (!flagged[i] && p.commit_nodes[i] > 1)
			str_fmt(&j->text, "reduction accepts T%zu, with %u commit nodes\n", i,
				p.commit_nodes[i]);
	}
}

static bool judge_trace(struct judge *j, const struct trace *t)
{
	str_reset(&j->text);
	j->counts->traces++;
	if (j->what == RANDOM_TREES) {
		judge_reduction(j, t);
		judge_against_paper(j, &j->conflict, t, false, &j->counts->conflict);
		judge_against_paper(j, &j->view, t, true, &j->counts->view);
	} else {
		struct brute b = brute_judge(t, MAX_RUNS);

		j->counts->deadlocks += b.deadlocks > 0;
		j->counts->too_many += b.too_many;
		if (b.too_many)
			return true;
		judge_against_runs(j, &j->conflict, t, &b, b.conflict, &j->counts->conflict);
		judge_against_runs(j, &j->view, t, &b, b.view, &j->counts->view);
	}
	return !j->text.n;
}

static bool still_fails(void *arg, const struct trace *t)
{
	struct judge again = *(struct judge *)arg;
	struct counts ignored = {0};
	bool fails;

	/* With an access outside blocks, or a lock not released, it is another kind of trace. */
	for (size_t i = 0; i < t->n && again.what != RANDOM_MIXTURE; i++) {
		int depth = 0, locks = 0;

		for (size_t k = 0; k < t->n; k++) {
			if (t->ev[k].thread != t->ev[i].thread)
				continue;
			depth += (t->ev[k].op == OP_BEGIN) - (t->ev[k].op == OP_END);
			locks += t->ev[k].op == OP_ACQUIRE || t->ev[k].op == OP_ACQUIRE_SHARED;
			locks -= t->ev[k].op == OP_RELEASE || t->ev[k].op == OP_RELEASE_SHARED;
			if (t->ev[k].op != OP_END && !depth)
				return false;
		}
		if (depth || locks)
			return false;
	}
	again.text = (struct str)STR_INIT;
	again.counts = &ignored;
	fails = !judge_trace(&again, t);
	str_free(&again.text);
	return fails;
}

static void report(struct judge *j, struct trace *t, const char *origin)
{
	struct str text = STR_INIT;

	printf("FAILED: %s, seed %" PRIu64 ":\n%s", origin, j->seed, j->text.s);
	trace_print(t, &text);
	printf("%s", text.s);
	str_reset(&text);
	shrink(t, still_fails, j);
	judge_trace(j, t);
	trace_print(t, &text);
	printf("shrunk to %zu events:\n%s%s", t->n, text.s, j->text.s);
	str_free(&text);
}

/* ---- named cases ---- */

/* A trace, and the threads that must have a finding, by their canonical names. */
struct fixed_case {
	const char *name, *text, *conflict, *view;
};

#define T(t, ops)    t "|begin " ops t "|end "
#define L(t, l, ops) t "|acq(" l ") " ops t "|rel(" l ") "
#define R(t, x)      t "|r(" x ") "
#define W(t, x)      t "|w(" x ") "

/* The segments of figures 4 and 6, as the text describes them. */
#define FIGURE_T1 T("A", L("A", "l", W("A", "x") W("A", "x")))
#define FIGURE_T2 T("B", W("B", "x"))
#define FIGURE_T3 T("C", L("C", "l", R("C", "x") W("C", "x")))

static const struct fixed_case fixed_cases[] = {
	{"rd-wr against rd", T("A", R("A", "x") W("A", "x")) T("B", R("B", "x")), "", ""},
	{"modCount",
	 T("A", L("A", "l", W("A", "data") R("A", "modCount") W("A", "modCount")))
		 T("B", R("B", "modCount")),
	 "", ""},
	{"wr wr against wr", T("A", W("A", "x") W("A", "x")) T("B", W("B", "x")), "T0", ""},
	{"lost update",
	 T("A", L("A", "l", R("A", "x")) L("A", "l", W("A", "x")))
		 T("B", L("B", "l", R("B", "x")) L("B", "l", W("B", "x"))),
	 "T0 T1", "T0 T1"},
	{"the constructor of Vector",
	 T("A", L("A", "v", R("A", "count")) L("A", "v", R("A", "count") R("A", "data")))
		 T("B", L("B", "v", W("B", "count") W("B", "data"))),
	 "T0", "T0"},
	{"three transactions",
	 T("A", W("A", "x") R("A", "y")) T("B", W("B", "y") R("B", "z"))
		 T("C", W("C", "z") R("C", "x")),
	 "T0 T1 T2", "T0 T1 T2"},
	{"figures 4 and 6: t1 and t2", FIGURE_T1 FIGURE_T2, "T0", ""},
	{"figures 4 and 6: t2 and t3", FIGURE_T2 FIGURE_T3, "T1", "T1"},
	{"figures 4 and 6: t1 and t3", FIGURE_T1 FIGURE_T3, "", ""},
	{"figures 4 and 6: all three", FIGURE_T1 FIGURE_T2 FIGURE_T3, "T0 T2", "T0 T2"},
	{"figure 7", T("A", R("A", "x") R("A", "y")) T("B", W("B", "x")) T("C", W("C", "y")), "",
	 ""},
	{"figure 7, again and again",
	 T("A", R("A", "x") R("A", "y")) T("B", W("B", "x")) T("C", W("C", "y"))
		 T("A", R("A", "x") R("A", "y")) T("B", W("B", "x")) T("C", W("C", "y")),
	 "", ""},
	{"figure 7, forked",
	 "M|fork(A) M|fork(B) M|fork(C) " T("A", R("A", "x") R("A", "y")) T("B", W("B", "x"))
		 T("C", W("C", "y")),
	 "", ""},
	{"two writers in one thread, in that order",
	 T("A", R("A", "x") R("A", "y")) T("B", W("B", "x")) T("B", W("B", "y")), "T0", "T0"},
	{"in the other order",
	 T("A", R("A", "x") R("A", "y")) T("B", W("B", "y")) T("B", W("B", "x")), "", ""},
	{"the last of them under a lock",
	 "A|acq(l) A|rel(l) " T("A", R("A", "x") R("A", "y")) T("B", W("B", "y"))
		 T("B", W("B", "x")) T("B", L("B", "l", W("B", "y"))),
	 "T0", "T0"},
	{"the first of them under a lock",
	 "A|acq(l) A|rel(l) A|r(q) B|w(q) " T("A", R("A", "x") R("A", "y"))
		 T("B", L("B", "l", W("B", "x"))) T("B", W("B", "y")) T("B", W("B", "x")),
	 "T0", "T0"},
	{"writers outside blocks", T("A", R("A", "x") R("A", "y")) W("B", "x") W("B", "y"), "T0",
	 "T0"},
	{"outside, in the other order", T("A", R("A", "x") R("A", "y")) W("B", "y") W("B", "x"), "",
	 ""},
	{"one writer hands over to another",
	 T("A", R("A", "x") R("A", "y")) T("B", W("B", "x") W("B", "q"))
		 T("C", R("C", "q") W("C", "y")),
	 "T0 T1 T2", "T0 T1 T2"},
	{"a fork hands over",
	 "B|fork(D) " T("A", R("A", "x") R("A", "y"))
		 T("B", W("B", "x")) "B|fork(C) " T("C", W("C", "y")),
	 "T2", "T2"},
	{"before the fork", T("A", W("A", "x")) "A|fork(B) " T("B", R("B", "x") R("B", "x")), "",
	 ""},
	{"after the join",
	 "A|fork(B) " T("B", R("B", "x") R("B", "x")) "A|join(B) " T("A", W("A", "x")), "", ""},
	{"a fork cuts a block", "A|begin A|r(x) A|fork(B) A|w(x) A|end " T("B", W("B", "x")), "",
	 ""},
	{"a barrier between",
	 T("A", R("A", "x") R("A", "x")) "A|barrier(b) B|barrier(b) " T("B", W("B", "x")), "", ""},
	{"the barrier hands nothing over between phases",
	 T("A", R("A", "x") R("A", "y")) T("B", W("B", "x"))
		 T("C", W("C", "y")) "A|barrier(b) B|barrier(b) C|barrier(b) " T("B", W("B", "z"))
			 T("C", W("C", "z")),
	 "", ""},
	{"a lock around both",
	 T("A", L("A", "l", R("A", "x") W("A", "x"))) T("B", L("B", "l", R("B", "x") W("B", "x"))),
	 "", ""},
	{"shared locks keep writers out",
	 T("A", "A|racq(l) " R("A", "x") R("A", "y") "A|rrel(l) ")
		 T("B", L("B", "l", W("B", "x") W("B", "y"))),
	 "", ""},
	{"and not each other",
	 T("A", "A|racq(l) " R("A", "x") W("A", "x") "A|rrel(l) ")
		 T("B", "B|racq(l) " R("B", "x") W("B", "x") "B|rrel(l) "),
	 "T0 T1", "T0 T1"},
	{"hand over hand",
	 T("A", "A|acq(l) " W("A", "x") "A|acq(m) A|rel(l) " W("A", "y") "A|rel(m) ")
		 T("B", "B|acq(l) " W("B", "x") "B|acq(m) B|rel(l) " W("B", "y") "B|rel(m) "),
	 "", ""},
	{"hand over hand, with a gap",
	 T("A", L("A", "l", W("A", "x")) L("A", "m", W("A", "y")))
		 T("B", "B|acq(l) " W("B", "x") "B|acq(m) B|rel(l) " W("B", "y") "B|rel(m) "),
	 "T0", "T0"},
	{"updates", T("A", "A|u(x) A|u(y) ") T("B", "B|u(x) B|u(y) "), "T0 T1", "T0 T1"},
	{"one update", T("A", "A|u(x) ") T("B", "B|u(x) "), "", ""},
	{"memory used again",
	 T("A", R("A", "x") R("A", "x")) "A|free(x) B|alloc(x) " T("B", W("B", "x")), "", ""},
	{NULL, NULL, NULL, NULL},
};

static void sum_up(struct judge *j, const struct contender *who, const struct trace *t,
		   struct str *out)
{
	bool flagged[PAPER_THREADS];

	run_engine(j, who, t, flagged);
	for (int i = 0; i < PAPER_THREADS; i++)
		if (flagged[i])
			str_fmt(out, "%sT%d", out->n ? " " : "", i);
}

static bool run_case(struct judge *j, const struct fixed_case *c)
{
	struct str conflict = STR_INIT, view = STR_INIT;
	struct trace t = {.style = STYLE_BOTH};
	struct err err = {{0}};
	bool ok;

	if (trace_parse(&t, c->text, &err)) {
		fprintf(stderr, "case '%s': %s\n", c->name, err.text);
		exit(2);
	}
	str_reset(&j->text);
	sum_up(j, &j->conflict, &t, &conflict);
	sum_up(j, &j->view, &t, &view);
	ok = !j->text.n && !strcmp(conflict.s, c->conflict) && !strcmp(view.s, c->view);
	if (!ok)
		printf("FAILED: case '%s': conflict '%s', not '%s'; view '%s', not '%s'\n%s",
		       c->name, conflict.s, c->conflict, view.s, c->view, j->text.s);
	str_free(&conflict);
	str_free(&view);
	trace_free(&t);
	return ok;
}

/* ---- random ones ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static bool sum_up_random(const char *name, enum random_segments what, const struct counts *c)
{
	const struct tally *two[] = {&c->conflict, &c->view};
	bool ok = true;

	printf("%s: %" PRIu64 " traces, %" PRIu64 " that can deadlock, %" PRIu64 " left out\n",
	       name, c->traces, c->deadlocks, c->too_many);
	for (int i = 0; i < 2; i++) {
		const struct tally *t = two[i];
		double said = percent(t->said, t->judged);

		printf("  %s: %" PRIu64 " judged, findings in %.1f%%",
		       i ? "commit-view" : "commit-conflict", t->judged, said);
		if (what == RANDOM_TREES)
			printf(", silent with several commit nodes in %.1f%%\n",
			       percent(t->atomic, t->judged));
		else
			printf(", atomic %.1f%%, false alarms %.2f%% of all and %.2f%% of the "
			       "atomic\n",
			       percent(t->atomic, t->judged), percent(t->false_alarms, t->judged),
			       percent(t->false_alarms, t->atomic));
		ok &= c->traces < 1000 ||
		      (said > 10 && said < 90 && t->judged > c->traces / 2 && t->atomic);
	}
	if (what == RANDOM_TREES) {
		printf("  reduction accepts %" PRIu64 " transactions\n", c->reduced);
		ok &= c->reduced > 0;
	}
	if (!ok)
		printf("FAILED: the traces are too much alike to test anything\n");
	return ok;
}

static bool run_random(struct judge *j, const char *name, enum random_segments what, uint64_t count,
		       uint64_t seed)
{
	struct counts counts = {0};
	struct trace t = {0};
	uint64_t failed = 0;

	j->counts = &counts;
	j->what = what;
	for (uint64_t i = 0; i < count && failed < 3; i++) {
		j->seed = seed + i;
		random_segments(&t, j->seed, what);
		if (!judge_trace(j, &t)) {
			report(j, &t, name);
			failed++;
		}
	}
	trace_free(&t);
	return sum_up_random(name, what, &counts) && !failed;
}

static uint64_t parse_number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (!*s || *end) {
		fprintf(stderr, "test_commit: not a number: '%s'\n", s);
		exit(2);
	}
	return n;
}

static const char usage[] = "usage: test_commit [--count N] [--seed S]\n";

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	uint64_t count = 20000, seed = 1;
	struct counts ignored = {0};
	struct judge j = {.text = STR_INIT, .counts = &ignored};
	bool ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'c')
			count = parse_number(optarg);
		else if (c == 's')
			seed = parse_number(optarg);
		else
			return fputs(usage, stderr), 2;
	}
	if (optind != argc)
		return fputs(usage, stderr), 2;
	j.conflict = (struct contender){"commit-conflict", engine_by_name("commit-conflict"), NULL};
	j.view = (struct contender){"commit-view", engine_by_name("commit-view"), NULL};
	j.reduction = (struct contender){"reduction", engine_by_name("reduction"), NULL};
	for (j.seed = 1; j.seed <= 3; j.seed++)
		for (const struct fixed_case *f = fixed_cases; f->name; f++)
			ok &= run_case(&j, f);
	ok &= run_random(&j, "pairs", RANDOM_PAIR, count, seed);
	ok &= run_random(&j, "forests", RANDOM_TREES, count, seed);
	ok &= run_random(&j, "mixtures", RANDOM_MIXTURE, count / 4, seed);
	str_free(&j.text);
	return ok ? 0 : 1;
}
