/*
 * Velodrome's section 4.3: three nested blocks, of which the innermost begins after the
 * read that another thread's write makes stale. It is not refuted; the two around it are.
 *
 * buggy blame: p
 * buggy refuted: p
 * buggy refuted: q
 * buggy variable: x
 * buggy rests: data
 * buggy step: r read
 * buggy step: w cut
 * buggy step: w write
 * buggy prints: 1
 * fixed prints: 2
 */
#include <stdatomic.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int x;

BLOCK void r(int t)
{
	atomic_store(&x, t + 1); /* step: write */
}

BLOCK void q(void)
{
	int t = atomic_load(&x); /* step: read */

	window_hold(1);
	r(t);
}

BLOCK void p(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
#endif
	q();
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
}

BLOCK void other(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
#endif
	atomic_store(&x, 2); /* step: cut */
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
}

TWO_THREADS(p(), other())

int main(void)
{
	run_two(first, second);
	printf("%d\n", atomic_load(&x));
}
