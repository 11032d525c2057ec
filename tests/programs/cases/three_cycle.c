/*
 * A cycle of three blocks over three variables, each with its own lock.
 * Only the first block is cut.
 *
 * buggy blame: start
 * buggy refuted: start
 * buggy rests: data
 * buggy step: w put
 * buggy step: r get
 * buggy prints: 1
 * fixed prints: 0
 */
#include "window.h"

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
			       PTHREAD_MUTEX_INITIALIZER};
static int v[3];
static int result;

static void lock_all(void)
{
#ifdef FIXED
	pthread_mutex_lock(&all);
#endif
}

static void unlock_all(void)
{
#ifdef FIXED
	pthread_mutex_unlock(&all);
#endif
}

BLOCK int get(int i)
{
	pthread_mutex_lock(&m[i]);
	int x = v[i]; /* step: get */
	pthread_mutex_unlock(&m[i]);
	return x;
}

BLOCK void put(int i, int x)
{
	pthread_mutex_lock(&m[i]);
	v[i] = x; /* step: put */
	pthread_mutex_unlock(&m[i]);
}

BLOCK int start(void)
{
	lock_all();
	put(0, 1);
	window_hold(1);
	int x = get(2);
	unlock_all();
	return x;
}

BLOCK void pass_on(int i)
{
	lock_all();
	put(i + 1, get(i));
	unlock_all();
}

static void *first(void *arg)
{
	result = start();
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	pass_on(0);
	reached(1);
	return arg;
}

static void *third(void *arg)
{
	await(1);
	pass_on(1);
	window_leave(1);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, third, NULL);
	run_two(first, second);
	pthread_join(t, NULL);
	printf("%d\n", result);
}
