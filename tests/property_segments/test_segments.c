/*
 * The property test of `reduction` and `blocks`: named examples, and random small
 * traces that are compared with the twin, which tries every interleaving.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/blocks/options.h"
#include "drive.h"
#include "random_segments.h"
#include "shrink.h"
#include "twin_segments.h"

#include "base/banned.h"

enum { REDUCTION, ATOMIZER, PAIRS, SETS, CONTENDERS };

struct counts {
	uint64_t traces, skipped, cut_view, cut_conflict;
	uint64_t false_reduction, false_pairs, false_sets;
};

struct judge {
	struct contender who[CONTENDERS];
	enum segments_shape shape;
	uint64_t seed;
	struct str what;
	struct counts counts[SEGMENTS_SHAPES];
};

enum { MOST = 20000 };

static size_t count_findings(struct judge *j, int who, const struct trace *t)
{
	struct finding_list said;
	size_t n;

	if (!drive(&j->who[who], t, j->seed, &said, &j->what))
		str_addc(&j->what, '\n');
	n = said.n;
	drive_free(&said);
	return n;
}

/* No violation may be missed. For two transactions, `blocks` must also have no false alarm. */
static bool judge_trace(struct judge *j, const struct trace *t)
{
	struct counts *c = &j->counts[j->shape];
	enum twin_verdict view = twin_segments(t, BY_VIEW, MOST);
	enum twin_verdict conflict = twin_segments(t, BY_CONFLICT, MOST);
	bool reduction, pairs, sets;

	str_reset(&j->what);
	c->traces++;
	if (view >= TWIN_LARGE || conflict >= TWIN_LARGE) {
		c->skipped++;
		return true;
	}
	reduction = count_findings(j, REDUCTION, t) > 0;
	pairs = count_findings(j, PAIRS, t) > 0;
	sets = count_findings(j, SETS, t) > 0;
	c->cut_view += view == TWIN_CUT;
	c->cut_conflict += conflict == TWIN_CUT;
	c->false_reduction += reduction && conflict != TWIN_CUT;
	c->false_pairs += pairs && view != TWIN_CUT;
	c->false_sets += sets && view != TWIN_CUT;
	if (conflict == TWIN_CUT && !reduction)
		str_add(&j->what, "reduction says atomic, and it is not\n");
	if (view == TWIN_CUT && !sets)
		str_add(&j->what, "blocks=sets says atomic, and it is not\n");
	if (j->shape == TWO_BLOCKS && pairs != (view == TWIN_CUT))
		str_fmt(&j->what, "blocks says %s, and it is not\n", pairs ? "cut" : "atomic");
	if (pairs && !sets)
		str_add(&j->what, "blocks finds a pair that blocks=sets does not\n");
	return !j->what.n;
}

static bool still_fails(void *arg, const struct trace *t)
{
	struct judge again = *(struct judge *)arg;
	bool fails;

	again.what = (struct str)STR_INIT;
	fails = !judge_trace(&again, t);
	str_free(&again.what);
	return fails;
}

static void report(struct judge *j, struct trace *t, const char *origin)
{
	struct str text = STR_INIT;

	printf("FAILED: %s, seed %" PRIu64 ":\n%s", origin, j->seed, j->what.s);
	shrink(t, still_fails, j);
	judge_trace(j, t);
	trace_print(t, &text);
	printf("shrunk to %zu events:\n%s%s", t->n, text.s, j->what.s);
	str_free(&text);
}

/* Examples of the papers and others, and which engines must have a finding, one letter each. */
struct fixed_case {
	const char *name, *text, *said; /* a: atomizer, r: reduction, b: blocks, s: blocks=sets */
};

#define T1(body) "A|begin " body " A|end "
#define T2(body) "B|begin " body " B|end "
#define T3(body) "C|begin " body " C|end "

static const struct fixed_case fixed_cases[] = {
	{"rd-wr against wr", T1("A|r(x) A|w(x)") T2("B|w(x)"), "rbs"},
	{"rd-wr against wr, both under one lock",
	 T1("A|acq(l) A|r(x) A|w(x) A|rel(l)") T2("B|acq(l) B|w(x) B|rel(l)"), ""},
	{"rd-wr against rd", T1("A|r(x) A|w(x)") T2("B|r(x)"), "r"},
	{"modCount", T1("A|acq(l) A|w(e) A|r(modCount) A|w(modCount) A|rel(l)") T2("B|r(modCount)"),
	 "r"},
	{"wr wr against wr", T1("A|w(x) A|w(x)") T2("B|w(x)"), "r"},
	{"the three-transaction cycle", T1("A|w(x) A|w(y)") T2("B|r(x) B|w(z)") T3("C|r(z) C|r(y)"),
	 "ars"},
	{"the block table with locks l and m",
	 T1("A|acq(l) A|acq(m) A|r(x) A|rel(m) A|r(x) A|rel(l)")
		 T2("B|acq(m) B|w(x) B|rel(m) B|r(x)"),
	 "arbs"},
	{"movers as known at that moment", T1("A|acq(l) A|r(x) A|w(x) A|rel(l)") "B|w(x)", "rbs"},
	{"two variables, no 1v-block", T1("A|r(x) A|w(y)") T2("B|r(y) B|w(x)"), "arbs"},
	{"lost update",
	 T1("A|acq(l) A|r(x) A|rel(l) A|acq(l) A|w(x) A|rel(l)")
		 T2("B|acq(l) B|r(x) B|rel(l) B|acq(l) B|w(x) B|rel(l)"),
	 "arbs"},
	{"an empty section between",
	 T1("A|acq(l) A|r(x) A|r(y) A|rel(l)") T2("B|w(x) B|acq(l) B|rel(l) B|w(y)"), "arbs"},
	{"enhanced: a lock over nothing that matters",
	 T1("A|acq(m) A|r(c) A|rel(m) A|acq(l) A|w(x) A|rel(l)")
		 T2("B|acq(m) B|r(c) B|rel(m) B|acq(l) B|w(x) B|rel(l)"),
	 "a"},
	{"a protected lock",
	 T1("A|acq(g) A|acq(l) A|w(x) A|rel(l) A|acq(l) A|r(x) A|rel(l) A|rel(g)")
		 T2("B|acq(g) B|acq(l) B|w(x) B|rel(l) B|acq(l) B|r(x) B|rel(l) B|rel(g)"),
	 ""},
	{"a thread's own lock",
	 T1("A|acq(l) A|w(x) A|rel(l) A|acq(l) A|w(x) A|rel(l)") T2("B|acq(m) B|w(y) B|rel(m)"),
	 ""},
	{"readers share", T1("A|racq(l) A|r(x) A|r(x) A|rrel(l)") T2("B|acq(l) B|w(x) B|rel(l)"),
	 ""},
	{"two transactions of one thread", T1("A|r(x) A|r(y)") T2("B|w(x)") T2("B|w(y)"), "rs"},
	{"handed over by fork", "A|w(x) A|fork(B) " T2("B|r(x) B|w(x)") "A|join(B) A|w(x)", ""},
	{"cut by outside operations", T1("A|r(x) A|r(y)") "B|w(x) B|w(y)", "rbs"},
	{NULL, NULL, NULL},
};

static bool run_case(struct judge *j, const struct fixed_case *c)
{
	static const struct {
		char letter;
		int who;
	} order[] = {{'a', ATOMIZER}, {'r', REDUCTION}, {'b', PAIRS}, {'s', SETS}};
	struct str said = STR_INIT;
	struct trace t = {.style = STYLE_BOTH};
	struct err err = {{0}};
	bool ok;

	if (trace_parse(&t, c->text, &err)) {
		fprintf(stderr, "case '%s': %s\n", c->name, err.text);
		exit(2);
	}
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (count_findings(j, order[i].who, &t))
			str_addc(&said, order[i].letter);
	ok = !strcmp(said.s, c->said);
	if (!ok)
		printf("FAILED: case '%s': '%s', not '%s'\n", c->name, said.s, c->said);
	str_free(&said);
	trace_free(&t);
	return ok;
}

static void print_counts(const struct counts *c, const char *name)
{
	double judged = (double)(c->traces - c->skipped) / 100;

	printf("%s: %" PRIu64 " traces, %" PRIu64
	       " of them too large; not atomic by view %.1f%%, by "
	       "conflict %.1f%%; false alarms: reduction %.1f%%, blocks %.2f%%, blocks=sets "
	       "%.2f%%\n",
	       name, c->traces, c->skipped, (double)c->cut_view / judged,
	       (double)c->cut_conflict / judged, (double)c->false_reduction / judged,
	       (double)c->false_pairs / judged, (double)c->false_sets / judged);
}

static const char *const shape_names[] = {"two transactions", "many segments", "crossed locks"};

static uint64_t parse_number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (!*s || *end) {
		fprintf(stderr, "test_segments: not a number: '%s'\n", s);
		exit(2);
	}
	return n;
}

/* Judges `count` random traces of each shape. Returns whether all passed. */
static bool run_random(struct judge *j, uint64_t seed, uint64_t count)
{
	struct trace t = {0};
	bool ok = true;

	for (int shape = 0; shape < SEGMENTS_SHAPES && ok; shape++) {
		struct counts *c = &j->counts[shape];

		j->shape = (enum segments_shape)shape;
		for (j->seed = seed; j->seed - seed < count && ok; j->seed++) {
			random_segments(&t, j->seed, j->shape);
			ok = judge_trace(j, &t);
			if (!ok)
				report(j, &t, shape_names[shape]);
		}
		print_counts(c, shape_names[shape]);
		/* Were the traces varied enough to test anything? */
		if (ok && count >= 1000 &&
		    (c->skipped > c->traces / 2 || c->cut_view * 10 < c->traces ||
		     c->cut_view * 10 > 9 * c->traces)) {
			printf("FAILED: the traces are too much alike to test anything\n");
			ok = false;
		}
	}
	trace_free(&t);
	return ok;
}

static const char usage[] = "usage: test_segments [--count N] [--seed S]\n";

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	uint64_t count = 20000, seed = 1;
	struct judge j = {.what = STR_INIT, .seed = 1};
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
	j.who[REDUCTION] = (struct contender){"reduction", engine_by_name("reduction"), NULL};
	j.who[ATOMIZER] = (struct contender){"atomizer", engine_by_name("atomizer"), NULL};
	j.who[PAIRS] = (struct contender){"blocks", engine_by_name("blocks"), NULL};
	j.who[SETS] = j.who[PAIRS];
	j.who[SETS].options = &(const struct blocks_options){"sets"};
	for (int i = 0; i < CONTENDERS; i++)
		if (!j.who[i].ops)
			return fputs("test_segments: an engine is missing\n", stderr), 2;
	for (size_t i = 0; fixed_cases[i].name; i++)
		ok &= run_case(&j, &fixed_cases[i]);
	ok = ok && run_random(&j, seed, count);
	puts(ok ? "passed" : "failed");
	str_free(&j.what);
	return !ok;
}
