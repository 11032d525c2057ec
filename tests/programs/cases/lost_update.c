/*
 * A block reads the balance under the lock, and later writes it under the lock: what
 * another thread deposits in between is lost.
 *
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

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

#ifdef FIXED

BLOCK void deposit(int amount)
{
	pthread_mutex_lock(&m);
	int b = balance;
	window_hold(1);
	balance = b + amount;
	pthread_mutex_unlock(&m);
}

#else

BLOCK int get(void)
{
	pthread_mutex_lock(&m);
	int b = balance; /* step: read */
	pthread_mutex_unlock(&m);
	return b;
}

BLOCK void set(int b)
{
	pthread_mutex_lock(&m);
	balance = b; /* step: write */
	pthread_mutex_unlock(&m);
}

BLOCK void deposit(int amount)
{
	int b = get();
	window_hold(1);
	set(b + amount);
}

#endif

TWO_THREADS(deposit(10), deposit(20))

int main(void)
{
	run_two(first, second);
	printf("balance %d\n", balance);
}
