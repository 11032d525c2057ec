/* Operations on locks, kept for reports: what comes out is what went in, or nothing. */
#define ATOMSAN_MAY_MALLOC
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/history/history_locks.c"

/* A chunk, as the walk would tell it. */
static const struct history_walk *units;
static size_t nunits, at_unit;

bool history_walk(struct history_walk *w, const struct history *h, uint32_t chunk)
{
	(void)w;
	(void)h;
	(void)chunk;
	at_unit = 0;
	return nunits > 0;
}

bool history_walk_next(struct history_walk *w)
{
	if (at_unit == nunits)
		return false;
	*w = units[at_unit++];
	return true;
}

static struct history_lock ring[HISTORY_LOCKS];
static struct history history;

static void begin(void)
{
	memset(ring, 0, sizeof ring);
	memset(&history, 0, sizeof history);
	history.locks = ring;
}

/* All of it follows from a number; neighbours differ in each word. */
static uint64_t value(uint64_t n, uint64_t i)
{
	return (n * 16 + i + 1) * 0x9e3779b97f4a7c15ull & RAW_ADDRESS_MASK;
}

static struct history_lock_op made(uint64_t n)
{
	struct history_lock_op op;

	memset(&op, 0, sizeof op);
	op.address = value(n, 0);
	op.time = n + 1;
	op.clock = value(n, 1);
	op.pc = value(n, 2);
	op.op = n % 2 ? RAW_RELEASE : RAW_ACQUIRE;
	op.aux = n % 5;
	op.edge = n % 3 == 0;
	for (size_t i = 0; i < n % (HISTORY_CALLS + 1); i++)
		op.call[i] = value(n, 3 + i);
	return op;
}

static void put(uint64_t n)
{
	struct history_lock_op op = made(n);

	history_put_lock(&history, &op);
}

static bool is_right(const struct history_lock_op *op, uint64_t n)
{
	struct history_lock_op right = made(n);

	return !memcmp(op, &right, sizeof right);
}

static void round_and_round(void **state)
{
	struct history_lock_op op;
	uint64_t first;

	(void)state;
	begin();
	assert_int_equal(history_locks(&history, &first), 0);
	for (uint64_t n = 0; n < 3 * HISTORY_LOCKS + 100; n++) {
		put(n);
		assert_int_equal(history_locks(&history, &first), n + 1);
		assert_int_equal(first, n < HISTORY_LOCKS ? 0 : n + 1 - HISTORY_LOCKS);
		assert_true(history_lock_at(&history, n, &op) && is_right(&op, n));
		assert_true(history_lock_at(&history, first, &op) && is_right(&op, first));
		assert_false(history_lock_at(&history, n + 1, &op));
		if (first)
			assert_false(history_lock_at(&history, first - 1, &op));
	}
}

static void of_one_thread(void **state)
{
	struct history_lock_op op;
	uint64_t first;

	(void)state;
	begin();
	put(0);
	put(1);
	/* Another thread's history: what is still in the ring is none of it. */
	history.nlocks = 0;
	assert_int_equal(history_locks(&history, &first), 0);
	put(2);
	assert_int_equal(history_locks(&history, &first), 1);
	assert_int_equal(first, 0);
	assert_true(history_lock_at(&history, first, &op) && is_right(&op, 2));
	history.locks = NULL;
	assert_int_equal(history_locks(&history, &first), 0);
}

static bool over;

static void *puts_on(void *arg)
{
	for (uint64_t n = 0; n < 1000 * HISTORY_LOCKS; n++)
		put(n);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	return arg;
}

/* Read while it is written: right, or refused. */
static void meanwhile(void **state)
{
	uint64_t first, wrong = 0, looked = 0;
	struct history_lock_op op;
	pthread_t writer;

	(void)state;
	begin();
	pthread_create(&writer, NULL, puts_on, NULL);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		uint64_t end = history_locks(&history, &first);

		/* The oldest ones are about to be overwritten. */
		for (uint64_t n = first; n < end && n < first + 8; n++, looked++)
			wrong += history_lock_at(&history, n, &op) && !is_right(&op, n);
	}
	pthread_join(writer, NULL);
	assert_int_equal(wrong, 0);
	assert_true(looked > 0);
}

/* What may be a step, and is not dead, with the calls around it. */
static void from_a_chunk(void **state)
{
	enum { EDGE = HISTORY_EDGE };
	static const struct history_walk chunk[] = {
		{.op = RAW_CALL, .pc = 11, .time = 1, .prologue = true},
		{.op = RAW_ACQUIRE, .address = 100, .time = 1, .prologue = true},
		{.op = RAW_RELEASE, .address = 100, .time = 4, .pc = 20},
		{.op = RAW_CALL, .pc = 12, .time = 5},
		{.op = (enum raw_op)EDGE, .time = 6},
		{.op = RAW_ACQUIRE, .address = 100, .time = 6, .clock = 3, .pc = 21, .aux = 2},
		{.op = RAW_READ, .address = 300, .time = 6},
		{.op = RAW_RELEASE, .address = 100, .time = 6, .pc = 22},
		{.op = RAW_ACQUIRE, .address = 200, .time = 6, .pc = 23},
		{.op = RAW_RETURN, .time = 6},
		{.op = RAW_RELEASE_SHARED, .address = 200, .time = 7, .pc = 24},
	};
	static const struct {
		uint64_t pc, call[3];
		bool edge;
	} kept[] = {{21, {12, 11}, true}, {22, {12, 11}, false}, {24, {11}, false}};
	struct history *h = calloc(1, sizeof *h + 8 * sizeof h->chunk[0]);
	struct history_lock_op op;
	uint64_t first;

	(void)state;
	memset(ring, 0, sizeof ring);
	h->locks = ring;
	h->nchunks = 8;
	h->chunk[3].base = 7;
	units = chunk;
	nunits = sizeof chunk / sizeof *chunk;
	history_keep_locks(h, 2, 8);
	assert_int_equal(history_locks(h, &first), 0); /* all dead */
	history_keep_locks(h, 2, 5);
	assert_int_equal(history_locks(h, &first), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(history_lock_at(h, i, &op));
		assert_int_equal(op.pc, kept[i].pc);
		assert_int_equal(op.edge, kept[i].edge);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(op.call[k], kept[i].call[k]);
	}
	assert_true(history_lock_at(h, 0, &op));
	assert_true(op.op == RAW_ACQUIRE && op.address == 100 && op.time == 6 && op.clock == 3 &&
		    op.aux == 2);
	free(h);
}

/* Not all calls were remembered: no others are reported in their place. */
static void deep(void **state)
{
	enum { DOWN = 70, UP = 68 };
	static struct history_walk chunk[DOWN + UP + 2];
	struct history *h = calloc(1, sizeof *h + 8 * sizeof h->chunk[0]);
	struct history_lock_op op;

	(void)state;
	memset(ring, 0, sizeof ring);
	h->locks = ring;
	h->nchunks = 8;
	nunits = 0;
	for (size_t i = 0; i < DOWN; i++)
		chunk[nunits++] = (struct history_walk){.op = RAW_CALL, .pc = 100 + i};
	for (size_t i = 0; i < UP; i++)
		chunk[nunits++] = (struct history_walk){.op = RAW_RETURN};
	chunk[nunits++] = (struct history_walk){.op = RAW_CALL, .pc = 7};
	chunk[nunits++] = (struct history_walk){.op = RAW_RELEASE};
	units = chunk;
	history_keep_locks(h, 2, 0);
	assert_true(history_lock_at(h, 0, &op));
	assert_int_equal(op.call[0], 7);
	assert_int_equal(op.call[1], 0);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_and_round),
		cmocka_unit_test(of_one_thread),
		cmocka_unit_test(meanwhile),
		cmocka_unit_test(from_a_chunk),
		cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
