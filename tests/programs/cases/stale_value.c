/*
 * A count is read under the lock and later used as an index, again under the lock, when
 * it is out of date.
 *
 * buggy blame: append
 * buggy refuted: append
 * buggy rests: data
 * buggy step: r count
 * buggy step: w store
 * buggy prints: 1 items, first 7
 * fixed prints: 2 items, first 7
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int items[16];
static int count;

BLOCK void append(int item)
{
	pthread_mutex_lock(&m);
	int n = count; /* step: count */
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	items[n] = item; /* step: store */
	count = n + 1;
	pthread_mutex_unlock(&m);
}

TWO_THREADS(append(7), append(8))

int main(void)
{
	run_two(first, second);
	printf("%d items, first %d\n", count, items[0]);
}
