/*
 * A histogram in a parallel loop. Compiled with -DATOMIC the update is atomic, and nothing may be
 * found. Without, increments can be lost, whether or not one was lost in this run.
 */
#include <stdio.h>

static int histogram[4];

__attribute__((noinline)) static void count(int value)
{
#ifdef ATOMIC
#pragma omp atomic
#endif
	histogram[value & 3]++;
}

int main(void)
{
	int sum = 0;

#pragma omp parallel for num_threads(2) schedule(static) reduction(+ : sum)
	for (int i = 0; i < 40; i++) {
		count(i);
		sum++;
	}
	printf("%d %s\n", sum, histogram[0] <= 10 ? "done" : "wrong");
	return 0;
}
