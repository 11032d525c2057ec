/*
 * A lock that is acquired by trying until that succeeds. A failed try is no event.
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
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void setup(void)
{
}

static void lock(void)
{
	while (pthread_mutex_trylock(&m))
		sched_yield();
}

static void unlock(void)
{
	pthread_mutex_unlock(&m);
}

#include "account.h"
