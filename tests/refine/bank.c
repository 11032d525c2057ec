/*
 * Two threads deposit, one after the other; with the argument "cut" the second comes between. The
 * test names the lines of the two accesses.
 */
#include <pthread.h>

#include "order.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance, cut;

static void deposit(int who)
{
	int value;

	order_wait(cut ? who : 2 * who);
	pthread_mutex_lock(&m);
	value = balance; /* line 18 */
	pthread_mutex_unlock(&m);
	order_next();
	order_wait(cut ? 3 - who : 2 * who + 1);
	pthread_mutex_lock(&m);
	balance = value + 1; /* line 23 */
	pthread_mutex_unlock(&m);
	order_next();
}

static void *customer(void *arg)
{
	deposit(*(int *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int who[2] = {0, 1};
	pthread_t t[2];

	(void)argv;
	cut = argc > 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, customer, &who[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
