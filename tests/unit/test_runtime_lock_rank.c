/* A thread that takes the runtime's locks out of order dies with a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ATOMSAN_DEBUG
#include "runtime/os/lock_rank.c"

static jmp_buf died;

void rt_die(const char *fmt, ...)
{
	(void)fmt;
	longjmp(died, 1);
}

void rt_lock_slow(uint32_t *l)
{
	(void)l;
	fail();
}

static uint32_t a, b, c;

/* Does a thread die if it takes two locks of these ranks, one after the other? */
static int dies(enum rt_rank first, enum rt_rank second)
{
	a = b = c = 0;
	rt_rank_child();
	if (setjmp(died))
		return 1;
	rt_lock_ranked(&a, first);
	rt_lock_ranked(&b, second);
	rt_unlock(&a);
	rt_unlock(&b);
	return 0;
}

static void test_order_of_two(void **state)
{
	(void)state;
	for (int x = RT_MODULES; x <= RT_REPORTER; x++)
		for (int y = RT_MODULES; y <= RT_REPORTER; y++)
			assert_int_equal(dies(x, y), !(x < y && y != RT_REPORTER));
}

static void test_release(void **state)
{
	(void)state;
	rt_rank_child();
	a = b = c = 0;
	if (setjmp(died))
		fail();
	rt_lock_ranked(&a, RT_ORDER);
	rt_unlock(&a);
	rt_lock_ranked(&b, RT_STRIPE);
	rt_lock(&c);
	rt_unlock(&c);
	rt_unlock(&b);
	rt_lock_ranked(&a, RT_REPORTER);
	rt_unlock(&a);
	assert_int_equal(a | b | c, 0);
	if (!setjmp(died)) {
		rt_unlock(&a);
		fail();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_two),
		cmocka_unit_test(test_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
