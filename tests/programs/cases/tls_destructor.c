/*
 * A destructor of a key is a function like any other: here it loses an update.
 *
 * buggy blame: flush
 * buggy refuted: flush
 * buggy variable: total
 * buggy prints: total 1
 * fixed prints: total 3
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int total, amount[2] = {1, 2};

BLOCK void flush(void *own)
{
	pthread_mutex_lock(&m);
	int t = total;
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	total = t + *(int *)own;
	pthread_mutex_unlock(&m);
	if (own == &amount[1])
		window_leave(1);
}

static void *first(void *arg)
{
	pthread_setspecific(key, &amount[0]);
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	pthread_setspecific(key, &amount[1]);
	return arg;
}

int main(void)
{
	pthread_key_create(&key, flush);
	run_two(first, second);
	printf("total %d\n", total);
}
