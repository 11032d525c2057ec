/*
 * Atomics of 16 bytes: a load and a store, or one addition.
 *
 * buggy blame: next
 * buggy variable: last
 * buggy rests: data
 * buggy prints: 1 1
 * fixed prints: 1 2
 *
 * flags: -mcx16
 * libs: -latomic
 */
#include "window.h"

typedef unsigned __int128 wide;

static _Alignas(16) wide last;
static int id[2];

BLOCK int next(void)
{
#ifdef FIXED
	wide n = __atomic_fetch_add(&last, 1, __ATOMIC_SEQ_CST) + 1;
	window_hold(1);
#else
	wide n = __atomic_load_n(&last, __ATOMIC_SEQ_CST) + 1;
	window_hold(1);
	__atomic_store_n(&last, n, __ATOMIC_SEQ_CST);
#endif
	return (int)n;
}

TWO_THREADS(id[0] = next(), id[1] = next())

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", id[0], id[1]);
}
