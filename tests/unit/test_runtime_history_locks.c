/* Saved operations on locks: a reader gets a whole operation as it was saved, or none. */
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

/* The units of a chunk, as history_walk() shows them. */
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

static void reset_history(void)
{
	memset(ring, 0, sizeof ring);
	memset(&history, 0, sizeof history);
	history.locks = ring;
}

/* The fields of an operation follow from its number, and differ from those of its neighbours. */
static uint64_t make_value(uint64_t n, uint64_t i)
{
	return (n * 16 + i + 1) * 0x9e3779b97f4a7c15ull & RAW_ADDRESS_MASK;
}

static struct history_lock_op make_op(uint64_t n)
{
	struct history_lock_op op;

	memset(&op, 0, sizeof op);
	op.address = make_value(n, 0);
	op.time = n + 1;
	op.clock = make_value(n, 1);
	op.pc = make_value(n, 2);
	op.op = n % 2 ? RAW_RELEASE : RAW_ACQUIRE;
	op.aux = n % 5;
	op.edge = n % 3 == 0;
	for (size_t i = 0; i < n % (HISTORY_CALLS + 1); i++)
		op.call[i] = make_value(n, 3 + i);
	return op;
}

static void put_op(uint64_t n)
{
	struct history_lock_op op = make_op(n);

	history_put_lock(&history, &op);
}

static bool is_op(const struct history_lock_op *op, uint64_t n)
{
	struct history_lock_op right = make_op(n);

	return !memcmp(op, &right, sizeof right);
}

static void test_ring_wraps(void **state)
{
	struct history_lock_op op;
	uint64_t first;

	(void)state;
	reset_history();
	assert_int_equal(history_locks(&history, &first), 0);
	for (uint64_t n = 0; n < 3 * HISTORY_LOCKS + 100; n++) {
		put_op(n);
		assert_int_equal(history_locks(&history, &first), n + 1);
		assert_int_equal(first, n < HISTORY_LOCKS ? 0 : n + 1 - HISTORY_LOCKS);
		assert_true(history_lock_at(&history, n, &op) && is_op(&op, n));
		assert_true(history_lock_at(&history, first, &op) && is_op(&op, first));
		assert_false(history_lock_at(&history, n + 1, &op));
		if (first)
			assert_false(history_lock_at(&history, first - 1, &op));
	}
}

static void test_new_thread_starts_empty(void **state)
{
	struct history_lock_op op;
	uint64_t first;

	(void)state;
	reset_history();
	put_op(0);
	put_op(1);
	/* The slot's next thread: operations that are still in the ring are not its own. */
	history.nlocks = 0;
	assert_int_equal(history_locks(&history, &first), 0);
	put_op(2);
	assert_int_equal(history_locks(&history, &first), 1);
	assert_int_equal(first, 0);
	assert_true(history_lock_at(&history, first, &op) && is_op(&op, 2));
	history.locks = NULL;
	assert_int_equal(history_locks(&history, &first), 0);
}

static bool writer_ended;

static void *put_many(void *arg)
{
	for (uint64_t n = 0; n < 1000 * HISTORY_LOCKS; n++)
		put_op(n);
	__atomic_store_n(&writer_ended, true, __ATOMIC_RELEASE);
	return arg;
}

/* Read while the ring is written: each operation is right, or refused. */
static void test_read_while_written(void **state)
{
	uint64_t first, wrong = 0, nread = 0;
	struct history_lock_op op;
	pthread_t writer;

	(void)state;
	reset_history();
	pthread_create(&writer, NULL, put_many, NULL);
	while (!__atomic_load_n(&writer_ended, __ATOMIC_ACQUIRE)) {
		uint64_t end = history_locks(&history, &first);

		/* The oldest operations are about to be overwritten. */
		for (uint64_t n = first; n < end && n < first + 8; n++, nread++)
			wrong += history_lock_at(&history, n, &op) && !is_op(&op, n);
	}
	pthread_join(writer, NULL);
	assert_int_equal(wrong, 0);
	assert_true(nread > 0);
}

/* Operations that can be a step and are not dead are saved, with the calls around them. */
static void test_save_chunk(void **state)
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
	history_save_ops(h, 2, 8);
	assert_int_equal(history_locks(h, &first), 0); /* all dead */
	history_save_ops(h, 2, 5);
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

/* Calls too deep to be remembered are left out, and no others stand in their place. */
static void test_deep_stack(void **state)
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
	history_save_ops(h, 2, 0);
	assert_true(history_lock_at(h, 0, &op));
	assert_int_equal(op.call[0], 7);
	assert_int_equal(op.call[1], 0);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_wraps),
		cmocka_unit_test(test_new_thread_starts_empty),
		cmocka_unit_test(test_read_while_written),
		cmocka_unit_test(test_save_chunk),
		cmocka_unit_test(test_deep_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
