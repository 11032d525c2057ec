/* Operations on locks, kept for reports: what comes out is what went in, or nothing. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/history_locks.c"

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
	/* Another thread's history. */
	history.first_lock = history.nlocks;
	put(1);
	assert_int_equal(history_locks(&history, &first), 2);
	assert_int_equal(first, 1);
	assert_true(history_lock_at(&history, first, &op) && is_right(&op, 1));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_and_round),
		cmocka_unit_test(of_one_thread),
		cmocka_unit_test(meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
