/*
 * The bank of the textbooks, with a lock for each account. The transfer takes the money out of one
 * account under that account's lock and puts it into the other under the other's lock. In between
 * the money is in neither account. The auditor takes both locks, adds up, and finds that money is
 * missing.
 *
 * Meant to be atomic: the withdrawal and the deposit. The auditor is correct. The twin takes both
 * locks, in the order of the accounts, before it moves the money.
 */
// expect: function=transfer variable=accounts,balance class=torn-pair where=thread
#include <pthread.h>
#include "prove.h"

struct account {
	pthread_mutex_t lock;
	long balance;
};

static struct account accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 500},
				     {PTHREAD_MUTEX_INITIALIZER, 500}};
static int missing;

static void *transfer(void *arg)
{
	struct account *from = &accounts[0], *to = &accounts[1];
	long amount = *(long *)arg;

#ifdef FIXED
	pthread_mutex_lock(&from->lock);
	pthread_mutex_lock(&to->lock);
	from->balance -= amount;
	pass_window();
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
#else
	pthread_mutex_lock(&from->lock);
	from->balance -= amount;
	pthread_mutex_unlock(&from->lock);
	pass_window();
	pthread_mutex_lock(&to->lock);
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
#endif
	return NULL;
}

static void *audit(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&accounts[0].lock);
		pthread_mutex_lock(&accounts[1].lock);
		if (accounts[0].balance + accounts[1].balance != 1000)
			missing++;
		pthread_mutex_unlock(&accounts[1].lock);
		pthread_mutex_unlock(&accounts[0].lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t clerk, auditor;
	long amount = 120;

	pthread_create(&clerk, NULL, transfer, &amount);
	pthread_create(&auditor, NULL, audit, NULL);
	pthread_join(clerk, NULL);
	pthread_join(auditor, NULL);
	return print_outcome(missing == 0);
}
