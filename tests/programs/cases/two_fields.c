/*
 * Two fields that belong together are changed in two critical sections: a reader in
 * between misses the money that is in neither field.
 *
 * buggy blame: transfer
 * buggy refuted: transfer
 * buggy rests: data
 * buggy step: w take
 * buggy step: r look
 * buggy step: w give
 * buggy prints: seen 90
 * fixed prints: seen 100
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int savings, current;
} bank = {100, 0};
static int seen;

BLOCK void transfer(int amount)
{
	pthread_mutex_lock(&m);
	bank.savings -= amount; /* step: take */
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	bank.current += amount; /* step: give */
	pthread_mutex_unlock(&m);
}

BLOCK int total(void)
{
	int sum;

	pthread_mutex_lock(&m);
	sum = bank.savings + bank.current; /* step: look */
	pthread_mutex_unlock(&m);
	return sum;
}

TWO_THREADS(transfer(10), seen = total())

int main(void)
{
	run_two(first, second);
	printf("seen %d\n", seen);
}
