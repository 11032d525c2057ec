/*
 * A block that the C library calls: a comparison function of qsort(), which another
 * block calls.
 *
 * buggy blame: sort_all
 * buggy refuted: sort_all
 * buggy refuted: compare
 * buggy variable: comparisons
 * buggy prints: 1 2
 * fixed prints: 1 2
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "window.h"

static atomic_int comparisons;
static int numbers[2] = {2, 1};

BLOCK int compare(const void *a, const void *b)
{
#ifdef FIXED
	atomic_fetch_add(&comparisons, 1);
	window_hold(1);
#else
	int n = atomic_load(&comparisons);

	window_hold(1);
	atomic_store(&comparisons, n + 1);
#endif
	return *(const int *)a - *(const int *)b;
}

BLOCK void sort_all(void)
{
	qsort(numbers, 2, sizeof numbers[0], compare);
}

TWO_THREADS(sort_all(), atomic_store(&comparisons, 0))

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", numbers[0], numbers[1]);
}
