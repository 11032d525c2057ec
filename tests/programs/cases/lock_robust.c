/*
 * A robust mutex whose owner ended without unlocking: the next thread gets it with
 * EOWNERDEAD, and no other thread owns it meanwhile.
 *
 * silent prints: owner died, value 2
 */
#define _GNU_SOURCE
#include <errno.h>

#include "window.h"

static pthread_mutex_t m;
static int value, died;

BLOCK void leave_locked(void)
{
	pthread_mutex_lock(&m);
	value = 1;
}

BLOCK void recover(void)
{
	if (pthread_mutex_lock(&m) == EOWNERDEAD) {
		died = 1;
		pthread_mutex_consistent(&m);
	}
	value++;
	pthread_mutex_unlock(&m);
}

static void *first(void *arg)
{
	leave_locked();
	return arg;
}

static void *second(void *arg)
{
	recover();
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &attr);
	pthread_create(&t, NULL, first, NULL);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, second, NULL);
	pthread_join(t, NULL);
	pthread_mutex_lock(&m);
	printf("owner %s, value %d\n", died ? "died" : "lives", value);
	pthread_mutex_unlock(&m);
}
