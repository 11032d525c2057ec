/*
 * OpenMP: two tasks deposit at the same time. The function that makes the tasks and waits for them
 * is no block, and neither are the tasks.
 *
 * flags: -fopenmp
 * buggy blame: deposit
 * buggy refuted: deposit
 * buggy variable: balance
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy prints: balance 15
 * fixed prints: balance 35
 */
#include "window.h"

static int balance;

#ifdef FIXED

BLOCK void deposit(int amount)
{
#pragma omp critical
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
#pragma omp critical
	b = balance; /* step: read */
	window_hold(1);
#pragma omp critical
	balance = b + amount; /* step: write */
}

#endif

BLOCK void pay(void)
{
	balance = 5;
#pragma omp task
	deposit(10);
#pragma omp task
	{
		window_enter(1);
		deposit(20);
		window_leave(1);
	}
#pragma omp taskwait
}

int main(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
	pay();
	printf("balance %d\n", balance);
}
