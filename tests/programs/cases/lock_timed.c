/*
 * pthread_mutex_timedlock() and pthread_mutex_clocklock(), in turn, until one succeeds.
 *
 * buggy blame: deposit
 * buggy refuted: deposit
 * buggy variable: account.*
 * buggy rests: data
 * buggy step: r account.h:read
 * buggy step: w account.h:write
 * buggy prints: balance 10
 * fixed prints: balance 30
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void setup(void)
{
}

static struct timespec soon(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static void lock(void)
{
	for (;;) {
		struct timespec real = soon(CLOCK_REALTIME), steady;

		if (pthread_mutex_timedlock(&m, &real) == 0)
			return;
		steady = soon(CLOCK_MONOTONIC);
		if (pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &steady) == 0)
			return;
	}
}

static void unlock(void)
{
	pthread_mutex_unlock(&m);
}

#include "account.h"
