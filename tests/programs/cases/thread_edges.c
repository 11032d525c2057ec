/*
 * The creation of a thread comes before everything that the thread does, and a join, by
 * any function that joins, comes after that: each block is cut by an edge from a create
 * or to a join. ThreadSanitizer of these compilers does not know one of the functions.
 *
 * buggy blame: over_create
 * buggy blame: over_join
 * buggy blame: over_tryjoin
 * buggy blame: over_timedjoin
 * buggy blame: over_clockjoin
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: done
 * fixed tsan: race
 * fixed prints: done
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "window.h"

enum { KINDS = 5 };
static atomic_int x[KINDS], y[KINDS];

/* Fixed: no other thread writes what the block reads. */
#ifdef FIXED
#define LAST(i) x[i]
#else
#define LAST(i) y[i]
#endif

#define OVER(name, i)                                                                              \
	BLOCK void name(void)                                                                      \
	{                                                                                          \
		atomic_store(&x[i], 1);                                                            \
		window_hold_for(i, 0);                                                             \
		atomic_load(&LAST(i));                                                             \
	}

OVER(over_create, 0)
OVER(over_join, 1)
OVER(over_tryjoin, 2)
OVER(over_timedjoin, 3)
OVER(over_clockjoin, 4)

static void *long_blocks(void *arg)
{
	over_create();
	over_join();
	over_tryjoin();
	over_timedjoin();
	over_clockjoin();
	return arg;
}

static void *read_x(void *arg)
{
	atomic_load(&x[*(int *)arg]);
	return NULL;
}

static void *write_y(void *arg)
{
	atomic_store(&y[*(int *)arg], 1);
	return NULL;
}

static struct timespec later(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += 10;
	return t;
}

static int join(int kind, pthread_t t)
{
	struct timespec end;

	switch (kind) {
	case 1:
		return pthread_join(t, NULL);
	case 2:
		while (pthread_tryjoin_np(t, NULL))
			sched_yield();
		return 0;
	case 3:
		end = later(CLOCK_REALTIME);
		return pthread_timedjoin_np(t, NULL, &end);
	default:
		end = later(CLOCK_MONOTONIC);
		return pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &end);
	}
}

int main(void)
{
	static int id[KINDS] = {0, 1, 2, 3, 4};
	pthread_t t, u;

	pthread_create(&t, NULL, long_blocks, NULL);

	window_enter(0);
	atomic_load(&x[0]);
	pthread_create(&u, NULL, write_y, &id[0]);
	pthread_join(u, NULL);
	window_leave(0);

	for (int i = 1; i < KINDS; i++) {
		window_enter(i);
		pthread_create(&u, NULL, read_x, &id[i]);
		if (join(i, u))
			abort();
		atomic_store(&y[i], 1);
		window_leave(i);
	}
	pthread_join(t, NULL);
	printf("done\n");
}
