/*
 * The lost update in a block that does more between its read and its write than the
 * histories hold: the block to blame is still known.
 *
 * buggy blame: deposit
 * buggy variable: balance
 * buggy prints: balance 10
 * fixed prints: balance 30
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;
static long book[200000];

BLOCK void write_down(int amount)
{
	for (size_t i = 0; i < sizeof book / sizeof *book; i++)
		book[i] += amount;
}

#ifdef FIXED

BLOCK void deposit(int amount)
{
	pthread_mutex_lock(&m);
	int b = balance;
	window_hold(1);
	if (amount == 10)
		write_down(amount);
	balance = b + amount;
	pthread_mutex_unlock(&m);
}

#else

BLOCK int get(void)
{
	pthread_mutex_lock(&m);
	int b = balance;
	pthread_mutex_unlock(&m);
	return b;
}

BLOCK void set(int b)
{
	pthread_mutex_lock(&m);
	balance = b;
	pthread_mutex_unlock(&m);
}

BLOCK void deposit(int amount)
{
	int b = get();
	window_hold(1);
	if (amount == 10)
		write_down(amount);
	set(b + amount);
}

#endif

TWO_THREADS(deposit(10), deposit(20))

int main(void)
{
	run_two(first, second);
	printf("balance %d\n", balance);
}
