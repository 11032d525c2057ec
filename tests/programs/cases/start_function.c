/*
 * A thread's start function and main() are no blocks by default, even if they are
 * cut; the same code in a function is one.
 *
 * buggy blame: bump
 * buggy prints: 2
 * fixed prints: 2
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

static inline int get(void)
{
	pthread_mutex_lock(&m);
	int v = x;
	pthread_mutex_unlock(&m);
	return v;
}

static inline void set(int v)
{
	pthread_mutex_lock(&m);
	x = v;
	pthread_mutex_unlock(&m);
}

BLOCK void bump(int window)
{
	int v = get();

	window_hold_for(window, 0);
	set(v + 1);
}

static void *start(void *arg)
{
#ifdef FIXED
	int v = get();

	window_hold_for(1, 0);
	set(v + 1);
#else
	bump(1);
#endif
	return arg;
}

static void *cut(void *arg)
{
	for (int i = 1; i <= 2; i++) {
		window_enter(i);
		set(10);
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, start, NULL);
	pthread_create(&t2, NULL, cut, NULL);
	pthread_join(t1, NULL);
	int v = get();
	window_hold_for(2, 0);
	set(v + 1);
	pthread_join(t2, NULL);
	printf("%d\n", x);
}
