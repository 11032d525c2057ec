/*
 * A semaphore with the initial value 1 as a lock, acquired by the try, timed and clock
 * functions.
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
#include <semaphore.h>
#include <time.h>

static sem_t sem;

static void setup(void)
{
	sem_init(&sem, 0, 1);
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
	while (sem_trywait(&sem)) {
		struct timespec real = soon(CLOCK_REALTIME), steady;

		if (sem_timedwait(&sem, &real) == 0)
			return;
		steady = soon(CLOCK_MONOTONIC);
		if (sem_clockwait(&sem, CLOCK_MONOTONIC, &steady) == 0)
			return;
	}
}

static void unlock(void)
{
	sem_post(&sem);
}

#include "account.h"
