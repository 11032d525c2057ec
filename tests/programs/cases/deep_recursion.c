/*
 * 100,000 nested blocks, of which the innermost is cut.
 *
 * buggy blame: descend
 * buggy refuted: descend
 * buggy variable: x
 * buggy prints: 100000 deep, x 1
 * fixed prints: 100000 deep, x 3
 * forgets: doublechecker
 */
#include "window.h"

enum { DEPTH = 100000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, depth;

BLOCK int descend(int n);
static int (*volatile again)(int) = descend;

BLOCK int descend(int n)
{
	if (n > 0)
		return again(n - 1) + 1;
	pthread_mutex_lock(&m);
	int v = x;
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	x = v + 1;
	pthread_mutex_unlock(&m);
	return 0;
}

BLOCK void add_two(void)
{
	pthread_mutex_lock(&m);
	x += 2;
	pthread_mutex_unlock(&m);
}

TWO_THREADS(depth = descend(DEPTH), add_two())

int main(void)
{
	pthread_attr_t attr;
	pthread_t t1, t2;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 20);
	pthread_create(&t1, &attr, first, NULL);
	pthread_create(&t2, NULL, second, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	printf("%d deep, x %d\n", depth, x);
}
