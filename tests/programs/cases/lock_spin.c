/*
 * A spin lock: pthread_spin_trylock(), and if that fails pthread_spin_lock().
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

static pthread_spinlock_t spin;

static void setup(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
}

static void lock(void)
{
	if (pthread_spin_trylock(&spin))
		pthread_spin_lock(&spin);
}

static void unlock(void)
{
	pthread_spin_unlock(&spin);
}

#include "account.h"
