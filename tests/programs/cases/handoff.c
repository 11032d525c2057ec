/*
 * The hand-off of Velodrome's section 2: a flag says whose turn it is, and there is no
 * lock. Tools that know only locks report a problem, but every run is serializable.
 *
 * silent prints: 200
 */
#include <sched.h>
#include <stdatomic.h>

#include "window.h"

static atomic_int turn = 1;
static int x;

BLOCK void bump(int next)
{
	int tmp = x;

	x = tmp + 1;
	atomic_store(&turn, next);
}

static void *one(void *arg)
{
	for (int i = 0; i < 100; i++) {
		while (atomic_load(&turn) != 1)
			sched_yield();
		bump(2);
	}
	return arg;
}

static void *two(void *arg)
{
	for (int i = 0; i < 100; i++) {
		while (atomic_load(&turn) != 2)
			sched_yield();
		bump(1);
	}
	return arg;
}

int main(void)
{
	run_two(one, two);
	printf("%d\n", x);
}
