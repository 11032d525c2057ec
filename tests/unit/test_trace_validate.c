/*
 * An event that cannot have happened is found, with the right number and sentence,
 * on both paths through validate.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace_fixture.h"

#include "base/banned.h"

/*
 * `bad` is the number of the first impossible event, 0 if there is none, and `why`
 * the sentence about it; the other fields are the counts if such events are skipped.
 */
static const struct row {
	const char *text;
	size_t bad;
	const char *why;
	uint64_t skipped, repeats, transactions, blocks;
} rows[] = {
	{""},
	{"T|begin\nT|begin\nT|end\nT|end\nT|begin\n", 0, NULL, 0, 0, 2, 3},
	{"T|end\n", 1, "T ends a block that it has not begun", 1},
	{"T|begin\nT|end\nT|end\nT|begin\n", 3, "T ends a block", 1, 0, 2, 2},
	{"T|begin\nU|end\nT|end\n", 2, "U ends a block", 1, 0, 1, 1},

	/* Exclusive. */
	{"T|acq(l)\nT|rel(l)\nU|acq(l)\nU|rel(l)\n"},
	{"T|rel(l)\n", 1, "T releases lock l, which it does not hold", 1},
	{"T|acq(l)\nU|rel(l)\n", 2, "U releases lock l", 1},
	{"T|acq(l)\nT|rel(l)\nT|rel(l)\n", 3, "T releases lock l", 1},
	{"T|acq(l)\nU|acq(l)\nT|rel(l)\nU|rel(l)\n", 2, "U acquires lock l, which T holds", 2},
	{"T|acq(l)\nU|acq(m)\nU|acq(l)\n", 3, "U acquires lock l, which T holds", 1},
	{"T|acq(l)\nT|acq(l)\nT|rel(l)\nT|rel(l)\nU|acq(l)\n", 0, NULL, 0, 2},
	{"T|acq(l)\nT|acq(l)\nT|rel(l)\nU|acq(l)\n", 4, "U acquires lock l", 1, 2},
	{"T|acq(l)\nT|acq(l)\nT|acq(l)\nT|rel(l)\nT|rel(l)\nT|rel(l)\nT|rel(l)\n", 7,
	 "T releases lock l", 1, 4},

	/* Shared. */
	{"T|racq(l)\nU|racq(l)\nT|rrel(l)\nU|rrel(l)\nT|acq(l)\n"},
	{"T|rrel(l)\n", 1, "T releases lock l, which it does not hold shared", 1},
	{"T|racq(l)\nU|rrel(l)\n", 2, "U releases lock l, which it does not hold shared", 1},
	{"T|racq(l)\nT|rel(l)\nT|rrel(l)\n", 2, "T releases lock l, which it does not hold", 1},
	{"T|acq(l)\nT|rrel(l)\nT|rel(l)\n", 2, "T releases lock l, which it does not hold shared",
	 1},
	{"T|racq(l)\nU|acq(l)\n", 2, "U acquires lock l, which T holds shared", 1},
	{"T|acq(l)\nU|racq(l)\n", 2, "U acquires lock l shared, which T holds", 1},
	{"T|racq(l)\nU|racq(l)\nT|rrel(l)\nT|acq(l)\n", 4, "T acquires lock l, which U holds", 1},
	{"T|racq(l)\nT|racq(l)\nT|rrel(l)\nU|acq(l)\nT|rrel(l)\nU|acq(l)\n", 4,
	 "U acquires lock l, which T holds shared", 1, 2},
	/* No upgrade or downgrade while it is held. */
	{"T|racq(l)\nT|acq(l)\nT|rrel(l)\n", 2, "T acquires lock l, which T holds shared", 1},
	{"T|acq(l)\nT|racq(l)\nT|rel(l)\n", 2, "T acquires lock l shared, which T holds", 1},
	/* The list of shared holders is reused for another lock, and is empty again. */
	{"T|racq(l)\nU|racq(l)\nU|rrel(l)\nT|rrel(l)\nV|racq(m)\nT|racq(l)\nV|acq(l)\nV|rrel(m)\n",
	 7, "V acquires lock l, which T holds shared", 1},

	/* Threads. */
	{"T|fork(U)\nU|w(x)\nT|join(U)\nT|join(U)\n"},
	{"T|fork(U)\nT|join(U)\n"},
	{"T|join(U)\n"},
	{"U|w(x)\nT|fork(U)\n", 2, "T forks U, which has already run", 1},
	{"T|fork(T)\n", 1, "T forks T, which has already run", 1},
	{"T|fork(U)\nT|fork(U)\n", 2, "T forks U, which was forked before", 1},
	{"T|fork(U)\nU|w(x)\nT|fork(U)\n", 3, "T forks U, which has already run", 1},
	{"T|fork(U)\nT|join(U)\nT|fork(U)\n", 3, "T forks U, which was joined before", 1},
	{"T|join(T)\nT|w(x)\n", 1, "T joins itself", 1},
	{"T|join(U)\nU|w(x)\n", 2, "U has an event after it was joined", 1},
	{"T|fork(U)\nU|w(x)\nT|join(U)\nU|begin\nU|end\n", 4, "U has an event after it was joined",
	 2},
	{"T|fork(U)\nU|acq(l)\nT|join(U)\nU|rel(l)\nT|acq(l)\n", 4, "U has an event", 2},
	{"T|join(U)\nU|join(T)\nT|w(x)\n", 2, "U has an event after it was joined", 1},
	/* A skipped event did not happen: its thread has not run. */
	{"X|end\nT|fork(X)\nX|w(x)\n", 1, "X ends a block", 1},
	{"X|rel(l)\nT|fork(X)\nT|fork(X)\n", 1, "X releases lock l", 2},
	{"X|fork(X)\nX|join(X)\nT|fork(X)\nX|fork(X)\n", 1, "X forks X, which has already run", 3},
	/* Condition variables share the name space of locks, but are not locks. */
	{"T|acq(l)\nU|wait(l)\nU|notify(l)\nU|barrier(l)\nT|rel(l)\n"},
};

static void expect_counts(const struct reader_counts *got, const struct reader_counts *want)
{
	assert_int_equal(got->skipped, want->skipped);
	assert_int_equal(got->repeats, want->repeats);
	assert_int_equal(got->blocks, want->blocks);
	assert_int_equal(got->transactions, want->transactions);
}

/*
 * The `warm` lines before it make every thread run, and fill whole batches, so
 * that the row is checked on the path for batches without forks.
 */
static void try_row(const struct row *row, size_t warm)
{
	const char *path = fixture_path("row.std");
	struct str text = STR_INIT, got = STR_INIT;
	char where[300];
	struct err err = {0};
	struct reader *r;

	for (size_t i = 0; i < warm; i++)
		str_fmt(&text, "%c|w(x)\n", "TUV"[i % 3]);
	str_add(&text, row->text);
	spit(path, text.s, text.n);

	read_all(path, (struct reader_options){0}, &got, &err);
	if (row->bad) {
		snprintf(where, sizeof where, "%s:%zu: %s", path, warm + row->bad, row->why);
		assert_memory_equal(err.text, where, strlen(where));
	} else {
		assert_string_equal(err.text, "");
	}

	r = reader_open(path, &(struct reader_options){.lenient = true, .count_ops = true}, &err);
	assert_non_null(r);
	read_on(r, &got, &err);
	assert_string_equal(err.text, "");
	expect_counts(reader_counts(r), &(struct reader_counts){.skipped = row->skipped,
								.repeats = row->repeats,
								.blocks = row->blocks,
								.transactions = row->transactions});
	assert_int_equal(reader_counts(r)->op[OP_NONE], row->skipped + row->repeats);
	reader_close(r);
	unlink(path);
	str_free(&text);
	str_free(&got);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		try_row(&rows[i], 0);
		/* Only threads that have not run yet are forked. */
		if (!strstr(rows[i].text, "fork"))
			try_row(&rows[i], READER_BATCH);
	}
}

/*
 * Compares random sequences, mostly of events that can happen, with the rules.
 * `wild` of a thousand events are added even if they cannot happen.
 */
struct shape {
	uint32_t threads, locks, wild, forks; /* forks and joins in a thousand events */
	size_t events, forks_before;          /* no forks and joins from this event on */
};

static struct event random_event(struct rng *rng, const struct shape *s, size_t at)
{
	static const enum op ops[] = {
		OP_BEGIN,          OP_BEGIN,   OP_END,     OP_END,
		OP_READ,           OP_WRITE,   OP_UPDATE,  OP_ACQUIRE,
		OP_RELEASE,        OP_ACQUIRE, OP_RELEASE, OP_ACQUIRE_SHARED,
		OP_RELEASE_SHARED, OP_WAIT,    OP_ALLOC,
	};
	struct event e = {.thread = rng_below(rng, s->threads)};

	e.op = (uint8_t)ops[rng_below(rng, N(ops))];
	if (at < s->forks_before && rng_below(rng, 1000) < s->forks)
		e.op = rng_below(rng, 3) ? OP_FORK : OP_JOIN;
	switch (op_info[e.op].operand) {
	case OPERAND_THREAD:
		e.operand = rng_below(rng, s->threads);
		break;
	case OPERAND_LOCK:
	case OPERAND_SYNC:
		e.operand = rng_below(rng, s->locks);
		break;
	default:
		break;
	}
	return e;
}

static void random_trace(struct trace *t, struct rng *rng, const struct shape *s)
{
	struct rules rules = {0};
	size_t tries = 0;

	trace_init(t);
	for (uint32_t i = 0; i < RULES_THREADS; i++) {
		char name[8];

		snprintf(name, sizeof name, "T%u", i);
		assert_int_equal(
			table_intern_any(&t->names.table[NAMES_THREAD], name, strlen(name)), i);
		snprintf(name, sizeof name, "l%u", i);
		assert_int_equal(table_intern_any(&t->names.table[NAMES_LOCK], name, strlen(name)),
				 i);
	}
	table_intern_any(&t->names.table[NAMES_VAR], "x", 1);
	/* All threads may have been joined, so that no event can happen. */
	while (t->n < s->events && tries++ < 50 * s->events) {
		struct event e = random_event(rng, s, t->n);
		struct rules before = rules;

		if (rules_take(&rules, &e) != IMPOSSIBLE || rng_below(rng, 1000) < s->wild)
			trace_add(t, e);
		else
			rules = before;
	}
}

/* The sentence names the thread and says what it did. */
static void expect_sentence(const struct trace *t, size_t bad, const char *sentence,
			    const struct rules *before)
{
	static const char *const verbs[OP_COUNT] = {
		[OP_END] = "ends a block",
		[OP_ACQUIRE] = "acquires lock ",
		[OP_RELEASE] = "releases lock ",
		[OP_ACQUIRE_SHARED] = "acquires lock ",
		[OP_RELEASE_SHARED] = "releases lock ",
		[OP_FORK] = "forks ",
		[OP_JOIN] = "joins itself",
	};
	const struct event *e = &t->ev[bad];
	const char *verb = before->thread[e->thread].joined ? "has an event after it was joined"
							    : verbs[e->op];
	char want[64];

	snprintf(want, sizeof want, ": T%u %s", e->thread, verb);
	assert_non_null(strstr(sentence, want));
}

static void check_strict(const struct trace *t, const char *path, bool std)
{
	static struct event ev[READER_BATCH];
	struct rules rules = {0}, before = {0};
	struct reader *r;
	struct err err = {0};
	size_t bad = 0, seen = 0;
	int n;

	for (; bad < t->n; bad++) {
		before = rules;
		if (rules_take(&rules, &t->ev[bad]) == IMPOSSIBLE)
			break;
	}
	r = reader_open(path, &(struct reader_options){0}, &err);
	assert_non_null(r);
	while ((n = reader_next(r, ev, &err)) > 0)
		seen += (size_t)n;
	assert_int_equal(seen, bad);
	assert_int_equal(reader_counts(r)->events, bad);
	if (bad < t->n) {
		char where[300];

		snprintf(where, sizeof where, std ? "%s:%zu: " : "%s: event %zu: ", path, bad + 1);
		assert_memory_equal(err.text, where, strlen(where));
		expect_sentence(t, bad, err.text, &before);
		expect_counts(reader_counts(r), &before.counts);
	} else {
		assert_int_equal(n, 0);
		expect_counts(reader_counts(r), &rules.counts);
	}
	reader_close(r);
}

static void check_lenient(const struct trace *t, const char *path, bool keep_repeats)
{
	static struct event ev[READER_BATCH];
	struct reader_options options = {
		.lenient = true, .keep_repeats = keep_repeats, .count_ops = true};
	struct rules rules = {0};
	uint64_t ops[OP_COUNT] = {0};
	struct err err = {0};
	struct reader *r = reader_open(path, &options, &err);
	size_t seen = 0;
	int n;

	assert_non_null(r);
	while ((n = reader_next(r, ev, &err)) > 0)
		for (int i = 0; i < n; i++) {
			const struct event *e = &t->ev[seen++];
			enum ruling ruling = rules_take(&rules, e);
			enum op want = ruling == FINE || (ruling == REPEAT && keep_repeats)
					       ? e->op
					       : OP_NONE;

			assert_int_equal(ev[i].op, want);
			ops[want]++;
		}
	assert_int_equal(n, 0);
	assert_int_equal(seen, t->n);
	expect_counts(reader_counts(r), &rules.counts);
	assert_memory_equal(reader_counts(r)->op, ops, sizeof ops);
	reader_close(r);
}

static void check_random(uint64_t first, uint64_t last, struct shape (*shape)(struct rng *rng))
{
	for (uint64_t seed = first; seed < last; seed++) {
		struct rng rng = {seed};
		struct shape s = shape(&rng);
		const char *path;
		struct trace t;

		random_trace(&t, &rng, &s);
		path = fixture_path(seed % 2 ? "random.std" : "random.atrace");
		trace_write(&t, path, seed % 2 ? TRACE_STD : TRACE_ATRACE, 0);
		check_strict(&t, path, seed % 2);
		check_lenient(&t, path, rng_below(&rng, 2));
		unlink(path);
		trace_free(&t);
	}
}

static struct shape small(struct rng *rng)
{
	return (struct shape){
		.threads = 1 + rng_below(rng, 5),
		.locks = 1 + rng_below(rng, 3),
		.wild = rng_below(rng, 3) ? rng_below(rng, 60) : 1000,
		.forks = rng_below(rng, 100),
		.events = rng_below(rng, 60),
		.forks_before = SIZE_MAX,
	};
}

/* No batch but the first has forks, and the impossible event comes late. */
static struct shape large(struct rng *rng)
{
	return (struct shape){
		.threads = 2 + rng_below(rng, 6),
		.locks = 1 + rng_below(rng, RULES_LOCKS),
		.wild = rng_below(rng, 3),
		.forks = rng_below(rng, 3) ? 0 : 20,
		.events = 1000 + rng_below(rng, 4000),
		.forks_before = rng_below(rng, 4) ? READER_BATCH / 2 : SIZE_MAX,
	};
}

static void test_small(void **state)
{
	(void)state;
	check_random(0, 6000, small);
}

static void test_large(void **state)
{
	(void)state;
	check_random(100000, 101000, large);
}

/*
 * One impossible event in a long trace, at each interesting position of a batch,
 * followed by repeated acquires, blocks and another impossible event: none of
 * these may count, and only the first is reported.
 */
static void test_first_of_several(void **state)
{
	static const size_t places[] = {0,
					1,
					READER_BATCH - 1,
					READER_BATCH,
					READER_BATCH + 1,
					2 * READER_BATCH - 3,
					2 * READER_BATCH - 1,
					2 * READER_BATCH,
					3 * READER_BATCH + 500};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"T|end\nT|acq(l)\nT|acq(l)\nU|acq(l)\n", "T ends a block"},
		{"T|rel(l)\nT|begin\nT|end\nT|end\n", "T releases lock l"},
		{"T|rrel(l)\nT|acq(l)\nU|racq(l)\n",
		 "T releases lock l, which it does not hold shared"},
		{"T|end\nU|rel(l)\nT|end\n", "T ends a block"},
		{"U|rel(l)\nT|end\nU|rel(l)\n", "U releases lock l"},
		{"T|join(T)\nT|end\n", "T joins itself"},
	};

	(void)state;
	for (size_t p = 0; p < N(places); p++)
		for (size_t b = 0; b < N(bad); b++) {
			const char *path = fixture_path("one.std");
			struct reader_options options = {0};
			struct str text = STR_INIT, got = STR_INIT;
			struct err err = {0};
			struct reader *r;
			char where[300];

			for (size_t i = 0; i < places[p]; i++)
				str_fmt(&text, "%c|w(x)\n", "TU"[i % 2]);
			str_add(&text, bad[b].text);
			spit(path, text.s, text.n);
			r = reader_open(path, &options, &err);
			assert_non_null(r);
			assert_int_equal(read_on(r, &got, &err), places[p]);
			snprintf(where, sizeof where, "%s:%zu: %s", path, places[p] + 1,
				 bad[b].why);
			assert_memory_equal(err.text, where, strlen(where));
			expect_counts(reader_counts(r), &(struct reader_counts){0});
			reader_close(r);
			unlink(path);
			str_free(&text);
			str_free(&got);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_first_of_several),
	};

	return cmocka_run_group_tests_name("trace_validate", tests, fixture_setup,
					   fixture_teardown);
}
