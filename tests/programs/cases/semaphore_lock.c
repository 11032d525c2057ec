/*
 * A semaphore with the initial value 1 as a lock.
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
#include <semaphore.h>

static sem_t sem;

static void setup(void)
{
	sem_init(&sem, 0, 1);
}

static void lock(void)
{
	while (sem_wait(&sem))
		;
}

static void unlock(void)
{
	sem_post(&sem);
}

#include "account.h"
