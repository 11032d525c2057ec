/*
 * OpenMP: two critical sections where one is needed. What the other section deposits between them
 * is lost. The function that runs the parallel region and the sections themselves are no blocks.
 *
 * flags: -fopenmp
 * buggy blame: deposit
 * buggy refuted: deposit
 * buggy variable: balance
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy prints: balance 10
 * fixed prints: balance 30
 */
#include "window.h"

static int balance;

#ifdef FIXED

BLOCK void deposit(int amount)
{
#pragma omp critical(account)
	{
		int b = balance;
		window_hold(1);
		balance = b + amount;
	}
}

#else

BLOCK void deposit(int amount)
{
	int b;
#pragma omp critical(account)
	b = balance; /* step: read */
	window_hold(1);
#pragma omp critical(account)
	balance = b + amount; /* step: write */
}

#endif

BLOCK void run(void)
{
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		deposit(10);
#pragma omp section
		{
			window_enter(1);
			deposit(20);
			window_leave(1);
		}
	}
}

int main(void)
{
	run();
	printf("balance %d\n", balance);
}
