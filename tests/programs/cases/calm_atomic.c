/*
 * A block that works on its own memory for thousands of calls, each of which does an atomic
 * addition and needs no time of its own for that; then it calls the function that is cut, which
 * loads again what the block has loaded and changed. That load is the only evidence, and both
 * blocks are refuted.
 *
 * buggy blame: busy
 * buggy refuted: busy
 * buggy refuted: update
 * buggy variable: x
 * buggy rests: data
 * buggy step: r read
 * buggy prints: 3000 calls, x 1
 * fixed prints: 3000 calls, x 3
 */
#include <stdatomic.h>

#include "window.h"

static _Alignas(64) atomic_int x;
static _Alignas(64) atomic_int calls;

BLOCK void work(void)
{
	atomic_fetch_add(&calls, 1);
}

BLOCK void touch(void)
{
	atomic_fetch_add(&x, 0);
}

BLOCK void update(void)
{
#ifdef FIXED
	window_hold(1);
	atomic_fetch_add(&x, 1);
#else
	int v = atomic_load(&x); /* step: read */

	window_hold(1);
	atomic_store(&x, v + 1);
#endif
}

BLOCK void busy(void)
{
	for (int i = 0; i < 3000; i++) {
#ifndef FIXED
		if (i == 1000 && atomic_load(&x))
			atomic_store(&calls, -1);
#endif
		work();
	}
#ifndef FIXED
	touch();
#endif
	update();
}

BLOCK void add_two(void)
{
	atomic_fetch_add(&x, 2);
}

TWO_THREADS(busy(), add_two())

int main(void)
{
	run_two(first, second);
	printf("%d calls, x %d\n", calls, x);
}
