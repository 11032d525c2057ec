/*
 * The textbook's bank: a cashier books deposits, and the bank's own thread books interest. Each
 * reads the balance under the account's lock, works out the new balance without it, and writes that
 * under the lock. There is no data race; but a booking between the read and the write is lost.
 *
 * The twin holds the lock from the read to the write.
 */
// expect: function=cashier,interest variable=balance class=lost-update where=thread
#include <pthread.h>
#include "prove.h"

struct account {
	pthread_mutex_t lock;
	long balance;
	int bookings;
};

static struct account account = {PTHREAD_MUTEX_INITIALIZER, 100000, 0};

static void *cashier(void *arg)
{
	const long *amount = arg;
	pthread_mutex_lock(&account.lock);
	long balance = account.balance;
#ifndef FIXED
	pthread_mutex_unlock(&account.lock);
#endif
	balance += *amount;
	pass_window();
#ifndef FIXED
	pthread_mutex_lock(&account.lock);
#endif
	account.balance = balance;
	account.bookings++;
	pthread_mutex_unlock(&account.lock);
	return NULL;
}

static void *interest(void *arg)
{
	const long *percent = arg;
	pthread_mutex_lock(&account.lock);
	long balance = account.balance;
#ifndef FIXED
	pthread_mutex_unlock(&account.lock);
#endif
	balance += balance * *percent / 100;
	pass_window();
#ifndef FIXED
	pthread_mutex_lock(&account.lock);
#endif
	account.balance = balance;
	account.bookings++;
	pthread_mutex_unlock(&account.lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	long amount = 5000, percent = 2;
	pthread_create(&threads[0], NULL, cashier, &amount);
	pthread_create(&threads[1], NULL, interest, &percent);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* Either order of the two bookings is right. */
	return print_outcome(account.balance == 107100 || account.balance == 107000);
}
