/*
 * An error-checking mutex: locking it twice fails, and so does unlocking it while
 * another thread holds it.
 * ThreadSanitizer reports that.
 *
 * buggy blame: deposit
 * buggy refuted: deposit
 * buggy variable: account.*
 * buggy rests: data
 * buggy step: r account.h:read
 * buggy step: w account.h:write
 * buggy tsan: race
 * buggy prints: balance 10
 * fixed tsan: race
 * fixed prints: balance 30
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m;

static void setup(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void lock(void)
{
	if (pthread_mutex_unlock(&m) != EPERM)
		abort();
	pthread_mutex_lock(&m);
	if (pthread_mutex_lock(&m) != EDEADLK)
		abort();
}

static void unlock(void)
{
	pthread_mutex_unlock(&m);
}

#include "account.h"
