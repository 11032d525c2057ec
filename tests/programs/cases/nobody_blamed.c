/*
 * The two blocks of Velodrome's section 4.3: each of them could have run undisturbed,
 * but not both. A violation with no block to blame.
 *
 * buggy blame: nobody
 * buggy rests: data
 * buggy step: w right-x
 * buggy step: r left-x
 * buggy prints: 1 1
 * fixed prints: 0 1
 */
#include <stdatomic.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int x, y;
static int seen[2];

BLOCK int left(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
#endif
	atomic_store(&y, 1); /* step: left-y */
	window_hold(1);
	int t = atomic_load(&x); /* step: left-x */
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
	return t;
}

BLOCK int right(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
#endif
	atomic_store(&x, 1);     /* step: right-x */
	int u = atomic_load(&y); /* step: right-y */
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
	return u;
}

TWO_THREADS(seen[0] = left(), seen[1] = right())

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", seen[0], seen[1]);
}
