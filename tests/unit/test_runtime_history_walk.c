/* history_walk_to(): the units that it does not skip are those that a walk over the chunk shows. */
#define ATOMSAN_MAY_MALLOC
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/history/history.c"

/* What history.c uses of other files. */
struct rt_options rt_options;
struct slot_public slot_public[SHADOW_SLOTS];

void *rt_pages(size_t bytes)
{
	return calloc(1, bytes);
}

void rt_pages_empty(void *p, size_t bytes)
{
	memset(p, 0, bytes);
}

void rt_nap(void)
{
}

void rt_lock_slow(uint32_t *l)
{
	(void)l;
	abort();
}

void history_save_ops(struct history *h, uint32_t chunk, uint64_t dead)
{
	(void)h;
	(void)chunk;
	(void)dead;
}

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static struct rt_frame frames[64];
static struct rt_thread thread;

static void call_function(void)
{
	struct rt_frame *f = &frames[thread.calls.depth++];

	thread.time.now += SHADOW_TICK;
	history_put(&thread, RAW_CALL, below(100), 0, below(1000));
	f->unit = thread.hist.next;
}

/* As history_put_return(): a call is removed if no unit followed it. */
static void leave_function(void)
{
	struct rt_frame *f = &frames[--thread.calls.depth];

	if (thread.hist.next == f->unit)
		thread.hist.next -= 2;
	else
		history_put(&thread, RAW_RETURN, 0, 0, thread.hist.pc_high);
}

static void do_something(void)
{
	uintptr_t pc = (uintptr_t)(below(50) == 0) << 33 | below(1000);

	if (below(4) == 0)
		thread.time.now += SHADOW_TICK;
	if (below(20) == 0)
		thread.time.clock++;
	switch (below(8)) {
	case 0:
	case 1:
		if (thread.calls.depth < 60)
			call_function();
		break;
	case 2:
	case 3:
		if (thread.calls.depth)
			leave_function();
		break;
	case 4:
		/* Nested calls, all of which are removed again. */
		for (uint32_t n = below(12), i = 0; i < 2 * n && thread.calls.depth < 40; i++)
			i < n ? call_function() : leave_function();
		break;
	case 5:
		history_put_edge(&thread, (uint64_t)below(1 << 30) << 32 | below(1 << 30));
		break;
	case 6:
		history_put_sized(&thread, RAW_READ_RANGE, below(1 << 20), below(1 << 20), pc);
		break;
	default:
		history_put(&thread, RAW_WRITE, below(1 << 20), 8, pc);
	}
}

static bool is_same_unit(const struct history_walk *a, const struct history_walk *b)
{
	return a->address == b->address && a->time == b->time && a->clock == b->clock &&
	       a->size == b->size && a->pc == b->pc && a->op == b->op && a->aux == b->aux &&
	       a->prologue == b->prologue;
}

/* Compare a walk to `time` with a walk over all. Returns how many units were skipped. */
static uint32_t compare_walks(struct history *h, uint32_t chunk, uint64_t time)
{
	struct history_walk all, to;
	uint64_t clock = 0;
	uint32_t skipped = 0;
	bool more = history_walk(&all, h, chunk);

	assert_int_equal(history_walk_to(&to, h, chunk, time), more);
	if (!more)
		return 0;
	for (; all.u < to.u && (more = history_walk_next(&all)); skipped++) {
		assert_true(all.time < time);
		clock = all.clock;
	}
	if (skipped) {
		assert_int_equal(to.time, all.time);
		assert_int_equal(to.clock, clock);
	} else {
		assert_int_equal(to.time, 0);
	}
	do {
		more = history_walk_next(&all);
		assert_int_equal(history_walk_next(&to), more);
		assert_true(!more || is_same_unit(&all, &to));
	} while (more);
	return skipped;
}

static void test_walk_to_time(void **state)
{
	uint64_t asked = 0, skipped = 0;

	(void)state;
	for (uint64_t s = 1; s <= 40; s++) {
		uint32_t n = s % 2 ? 60000 : 3000; /* many chunks, or one */

		seed = s;
		memset(&thread, 0, sizeof thread);
		thread.calls.frame = frames;
		thread.slot = 1;
		thread.time.now = (uint64_t)1 << SHADOW_SLOT_SHIFT | SHADOW_TICK;
		assert_true(history_begin(&thread));
		for (uint32_t i = 0; i < n; i++) {
			uint64_t now =
				thread.time.now >> SHADOW_TIME_SHIFT & (2 * SHADOW_TIMES - 1);
			uint32_t back = below(2) ? 2 : below(2) ? 40 : 20000;

			do_something();
			if (below(20))
				continue;
			skipped += compare_walks(thread.history,
						 below(8) ? thread.history->at : below(8),
						 now > back ? now + 1 - below(back) : now);
			asked++;
		}
		history_end(&thread);
	}
	/* Skipping is worth it: a chunk has 4,096 units, and half of the walks go to its end. */
	assert_true(skipped / asked > 1000);
}

/* The prologue fits into a chunk, however deep the stack and wherever its callers are. */
static void test_deep_prologue(void **state)
{
	enum { DEPTH = 4000 };
	static struct rt_frame deep[DEPTH];

	(void)state;
	for (size_t depth = 0; depth < DEPTH; depth += 37) {
		memset(&thread, 0, sizeof thread);
		thread.calls.frame = deep;
		thread.slot = 1;
		thread.time.now = (uint64_t)1 << SHADOW_SLOT_SHIFT | SHADOW_TICK;
		assert_true(history_begin(&thread));
		for (size_t i = 0; i < depth; i++)
			deep[i].caller = (uintptr_t)(i % 2) << 33 | 1;
		thread.calls.depth = depth;
		history_restart(&thread);
		assert_true(thread.history->chunk[thread.history->at].prologue >= (depth ? 1 : 0));
		assert_true(thread.hist.next < thread.hist.end);
		assert_int_equal(thread.history->serial, 2);
		history_end(&thread);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_to_time),
		cmocka_unit_test(test_deep_prologue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
