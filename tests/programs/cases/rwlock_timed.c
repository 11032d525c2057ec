/*
 * Reader-writer locks, acquired by the try, timed and clock functions.
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

#define ACCOUNT_READ_LOCK
static pthread_rwlock_t rw;

static void setup(void)
{
	pthread_rwlock_init(&rw, NULL);
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

static inline void lock_to_read(void)
{
	struct timespec real = soon(CLOCK_REALTIME), steady;

	while (pthread_rwlock_tryrdlock(&rw) && pthread_rwlock_timedrdlock(&rw, &real)) {
		steady = soon(CLOCK_MONOTONIC);
		if (pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &steady) == 0)
			return;
		real = soon(CLOCK_REALTIME);
	}
}

static inline void unlock_read(void)
{
	pthread_rwlock_unlock(&rw);
}

static void lock(void)
{
	struct timespec real = soon(CLOCK_REALTIME), steady;

	while (pthread_rwlock_trywrlock(&rw) && pthread_rwlock_timedwrlock(&rw, &real)) {
		steady = soon(CLOCK_MONOTONIC);
		if (pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &steady) == 0)
			return;
		real = soon(CLOCK_REALTIME);
	}
}

static void unlock(void)
{
	pthread_rwlock_unlock(&rw);
}

#include "account.h"
