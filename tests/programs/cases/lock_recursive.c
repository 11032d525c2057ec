/*
 * A recursive mutex: only the outermost acquire and release are events.
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

static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void setup(void)
{
}

static void lock(void)
{
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_trylock(&m);
}

static void unlock(void)
{
	pthread_mutex_unlock(&m);
	pthread_mutex_unlock(&m);
}

#include "account.h"
