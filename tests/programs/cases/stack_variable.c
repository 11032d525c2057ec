/*
 * The variable is on the stack of another thread.
 *
 * buggy blame: bump
 * buggy step: r read
 * buggy step: w write
 * buggy prints: 1
 * fixed prints: 2
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

BLOCK void bump(int *p)
{
	pthread_mutex_lock(&m);
	int v = *p; /* step: read */
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	*p = v + 1; /* step: write */
	pthread_mutex_unlock(&m);
}

static void *first(void *arg)
{
	bump(arg);
	return NULL;
}

static void *second(void *arg)
{
	window_enter(1);
	bump(arg);
	window_leave(1);
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;
	int local = 0;

	pthread_create(&t1, NULL, first, &local);
	pthread_create(&t2, NULL, second, &local);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	printf("%d\n", local);
}
