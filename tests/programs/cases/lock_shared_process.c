/*
 * A mutex in memory that other processes could share, with priority inheritance.
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
#include <sys/mman.h>

static pthread_mutex_t *m;

static void setup(void)
{
	pthread_mutexattr_t attr;

	m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(m, &attr);
}

static void lock(void)
{
	pthread_mutex_lock(m);
}

static void unlock(void)
{
	pthread_mutex_unlock(m);
}

#include "account.h"
