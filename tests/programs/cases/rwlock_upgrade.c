/*
 * A block holds a reader-writer lock shared, releases it, and acquires it exclusively:
 * this is not an upgrade, since another thread can come in between.
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

#define ACCOUNT_READ_LOCK
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

static void setup(void)
{
}

static inline void lock_to_read(void)
{
	pthread_rwlock_rdlock(&rw);
}

static inline void unlock_read(void)
{
	pthread_rwlock_unlock(&rw);
}

static void lock(void)
{
	pthread_rwlock_wrlock(&rw);
}

static void unlock(void)
{
	pthread_rwlock_unlock(&rw);
}

#include "account.h"
