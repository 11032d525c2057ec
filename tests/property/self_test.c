#include "self_test.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cases.h"
#include "isolate.h"
#include "random_trace.h"
#include "toy.h"

#include "base/banned.h"

enum { SEEDS = 3000, SEEDS_ISOLATED = 30, LENGTH = 60 };

static unsigned passed, failed;

static void expect(bool ok, const char *what, const char *who)
{
	if (ok) {
		passed++;
	} else {
		failed++;
		printf("failed: %s: %s\n", who, what);
	}
}

/* The judge must accept the correct toy, and report each wrong one as its own kind of failure. */
static void test_toy(const struct toy *toy)
{
	struct judge j = {.who = {toys[TOY_truth].contender, toy->contender}, .n = 2};
	struct verdict v = {.what = STR_INIT};
	bool crash = toy->caught_as == FAIL_CRASH;
	unsigned caught = 0, otherwise = 0;
	struct trace t = {0};

	for (uint64_t seed = 1; seed <= (crash ? SEEDS_ISOLATED : SEEDS); seed++) {
		random_trace(&t, seed, LENGTH);
		if (crash)
			isolate_judge(&j, &t, seed, &v);
		else
			judge_trace(&j, &t, seed, &v);
		caught += v.failure && v.failure == toy->caught_as && v.who == 1;
		otherwise += v.failure && (v.failure != toy->caught_as || v.who != 1);
	}
	expect(!otherwise, "failed as something else", toy->contender.name);
	expect((caught > 0) == (toy->caught_as != FAIL_NOTHING), "not caught", toy->contender.name);
	trace_free(&t);
	str_free(&v.what);
}

/* The size of the smallest trace on which the toy is wrong is known; shrinking must reach it. */
static void test_shrink(enum toy_lie lie, size_t smallest)
{
	struct judge j = {.who = {toys[TOY_truth].contender, toys[lie].contender}, .n = 2};
	struct verdict v = {.what = STR_INIT};
	struct trace t = {0};
	size_t best = SIZE_MAX;

	for (uint64_t seed = 1; seed <= SEEDS_ISOLATED; seed++) {
		random_trace(&t, seed, LENGTH);
		isolate_judge(&j, &t, seed, &v);
		if (!v.failure)
			continue;
		isolate_shrink(&j, &t, seed, &v);
		expect(trace_legal(&t) && v.failure == toys[lie].caught_as, "shrunk to nothing",
		       toys[lie].contender.name);
		if (t.n < best)
			best = t.n;
	}
	expect(best == smallest, "not shrunk to the smallest", toys[lie].contender.name);
	trace_free(&t);
	str_free(&v.what);
}

static void test_traces(void)
{
	struct trace t = {0}, back = {0};
	struct str text = STR_INIT;
	unsigned illegal = 0, wrong_size = 0, lost = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct err err = {{0}};

		random_trace(&t, seed, LENGTH);
		illegal += !trace_legal(&t);
		wrong_size += t.n < 4 || t.n > LENGTH;
		str_reset(&text);
		trace_print(&t, &text);
		lost += trace_parse(&back, text.s, &err) || back.n != t.n ||
			memcmp(back.ev, t.ev, t.n * sizeof *t.ev);
	}
	expect(!illegal, "illegal traces", "random_trace");
	expect(!wrong_size, "traces of a wrong size", "random_trace");
	expect(!lost, "not the same after print and parse", "trace");
	trace_free(&t);
	trace_free(&back);
	str_free(&text);
}

static void test_illegal(void)
{
	static const char *const impossible[] = {
		"A|rel(l)",
		"A|end",
		"A|acq(l) B|acq(l)",
		"A|acq(l) B|racq(l)",
		"A|racq(l) B|acq(l)",
		"A|acq(l) A|acq(l)",
		"A|racq(l) A|rel(l)",
		"A|w(x) B|fork(A)",
		"A|fork(B) C|fork(B)",
		"B|w(x) A|join(B) B|r(x)",
		"A|join(A)",
		"A|begin A|end A|end",
		"A|acq(l) B|rel(l)",
		"A|racq(l) A|racq(l)",
		"A|fork(A)",
	};

	for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
		struct trace t = {0};
		struct err err = {{0}};

		expect(trace_parse(&t, impossible[i], &err) != 0, "taken for legal", impossible[i]);
		trace_free(&t);
	}
}

int self_test(void)
{
	struct str wrong = STR_INIT;
	unsigned bad = cases_check_twin(&wrong);

	printf("%s", wrong.s);
	str_free(&wrong);
	failed += bad;
	for (const struct fixed_case *c = fixed_cases; c->name; c++)
		passed++;
	passed -= bad;

	test_traces();
	test_illegal();
	for (size_t i = 0; i < TOY_COUNT; i++)
		test_toy(&toys[i]);
	test_shrink(TOY_silent, 4);   /* begin r w w */
	test_shrink(TOY_crashing, 4); /* the same, each try in its own process */
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
