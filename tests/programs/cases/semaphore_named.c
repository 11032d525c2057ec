/*
 * A named semaphore as a lock.
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
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t *sem;

static void setup(void)
{
	char name[64];

	snprintf(name, sizeof name, "/atomsan-test-%d", (int)getpid());
	sem = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	if (sem == SEM_FAILED)
		abort();
	sem_unlink(name);
}

static void lock(void)
{
	while (sem_wait(sem))
		;
}

static void unlock(void)
{
	sem_post(sem);
}

#include "account.h"
