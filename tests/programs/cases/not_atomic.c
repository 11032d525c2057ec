/*
 * A function that is marked as not atomic is no block; the functions that it calls still
 * are.
 *
 * buggy blame: outer
 * buggy refuted: outer
 * buggy prints: 1 1
 * fixed prints: 1 1
 */
#include <atomsan/atomsan.h>
#include <stdatomic.h>

#include "window.h"

static atomic_int x, y;

BLOCK int get(void)
{
	return atomic_load(&x);
}

BLOCK void put(int v)
{
	atomic_store(&x, v);
	atomic_store(&y, v);
}

BLOCK void outer(void)
{
#ifdef FIXED
	ATOMSAN_NOT_ATOMIC;
#endif
	int v = get();

	window_hold_for(1, 0);
	put(v + 1);
}

TWO_THREADS(outer(), put(5))

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", x, y);
}
