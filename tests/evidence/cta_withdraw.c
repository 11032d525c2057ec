/*
 * The textbook's withdrawal, and several published thefts from online banks and exchanges: the
 * balance is checked under the lock, the amount is taken away under the lock again. Check and
 * withdrawal are meant to be one step: two withdrawals that are both checked first overdraw the
 * account.
 *
 * The twin checks and withdraws in one critical section.
 */
// expect: function=withdraw variable=balance class=check-then-act where=inlined
#include <pthread.h>
#include <stdbool.h>
#include "prove.h"

struct account {
	pthread_mutex_t lock;
	long balance;
};

static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 150};

static long get_balance(struct account *a)
{
	pthread_mutex_lock(&a->lock);
	long balance = a->balance;
	pthread_mutex_unlock(&a->lock);
	return balance;
}

static bool withdraw(struct account *a, long amount)
{
#ifdef FIXED
	bool covered;
	pthread_mutex_lock(&a->lock);
	covered = a->balance >= amount;
	pass_window();
	if (covered)
		a->balance -= amount;
	pthread_mutex_unlock(&a->lock);
	return covered;
#else
	if (get_balance(a) < amount)
		return false;
	pass_window();
	pthread_mutex_lock(&a->lock);
	a->balance -= amount;
	pthread_mutex_unlock(&a->lock);
	return true;
#endif
}

static void *cash_machine(void *arg)
{
	long *paid = arg;
	for (int i = 0; i < 3; i++)
		if (withdraw(&savings, 30))
			*paid += 30;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	long paid[2] = {0, 0};
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, cash_machine, &paid[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(get_balance(&savings) >= 0 && paid[0] + paid[1] <= 150);
}
