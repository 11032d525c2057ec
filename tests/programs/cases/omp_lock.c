/*
 * OpenMP's own locks: a value is read under one acquire and written back under another. The fixed
 * program uses a nested lock, and updates it in one piece.
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
#include <omp.h>

#include "window.h"

static int balance;
static omp_lock_t lock;
static omp_nest_lock_t nest;

#ifdef FIXED

BLOCK void deposit(int amount)
{
	omp_set_nest_lock(&nest);
	int b = balance;
	omp_set_nest_lock(&nest);
	window_hold(1);
	omp_unset_nest_lock(&nest);
	balance = b + amount;
	omp_unset_nest_lock(&nest);
}

#else

BLOCK void deposit(int amount)
{
	while (!omp_test_lock(&lock))
		;
	int b = balance; /* step: read */
	omp_unset_lock(&lock);
	window_hold(1);
	omp_set_lock(&lock);
	balance = b + amount; /* step: write */
	omp_unset_lock(&lock);
}

#endif

int main(void)
{
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num()) {
			window_enter(1);
			deposit(20);
			window_leave(1);
		} else {
			deposit(10);
		}
	}
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest);
	printf("balance %d\n", balance);
}
