/*
 * An atomic load, then an atomic store. The fixed program has one atomic addition.
 *
 * buggy blame: next_id
 * buggy variable: last
 * buggy step: r load
 * buggy step: w store
 * buggy prints: 1 1
 * fixed prints: 1 2
 */
#include <stdatomic.h>

#include "window.h"

static atomic_int last;
static int ids[2];

BLOCK int next_id(void)
{
#ifdef FIXED
	int id = atomic_fetch_add(&last, 1) + 1;
	window_hold(1);
#else
	int id = atomic_load(&last) + 1; /* step: load */
	window_hold(1);
	atomic_store(&last, id); /* step: store */
#endif
	return id;
}

TWO_THREADS(ids[0] = next_id(), ids[1] = next_id())

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", ids[0], ids[1]);
}
