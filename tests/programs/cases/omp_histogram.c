/*
 * OpenMP: a histogram whose counters are updated without `omp atomic`, and with it.
 *
 * flags: -fopenmp
 * buggy blame: count
 * buggy variable: histogram?1?
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy prints: 1
 * buggy tsan: race
 * fixed prints: 2
 */
#include "window.h"

static int histogram[4];

BLOCK void count(int value)
{
	int *bin = &histogram[value & 3];
#ifdef FIXED
	window_hold(1);
#pragma omp atomic
	++*bin;
#else
	int n = *bin; /* step: read */

	window_hold(1);
	*bin = n + 1; /* step: write */
#endif
}

int main(void)
{
#pragma omp parallel for num_threads(2) schedule(static, 1)
	for (int i = 0; i < 2; i++) {
		if (i)
			window_enter(1);
		count(5);
		if (i)
			window_leave(1);
	}
	printf("%d\n", histogram[1]);
}
