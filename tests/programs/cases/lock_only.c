/*
 * Two critical sections of one lock in a block; the threads share no data. The run is
 * not serializable only because of the order of the lock operations.
 *
 * buggy blame: both
 * buggy rests: locks
 * buggy prints: 1 1 1
 * fixed prints: 1 1 1
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int a, b, c;

#ifdef FIXED
#define OTHER n
#else
#define OTHER m
#endif

BLOCK void both(void)
{
	pthread_mutex_lock(&m);
	a++;
	pthread_mutex_unlock(&m);
	window_hold(1);
	pthread_mutex_lock(&OTHER);
	b++;
	pthread_mutex_unlock(&OTHER);
}

BLOCK void one(void)
{
	pthread_mutex_lock(&m);
	c++;
	pthread_mutex_unlock(&m);
}

TWO_THREADS(both(), one())

int main(void)
{
	run_two(first, second);
	printf("%d %d %d\n", a, b, c);
}
