/*
 * A stale write in a function that the compiler inlines: the finding names that function, not the
 * one that it was inlined into.
 */
#include <pthread.h>

#include "order.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static inline __attribute__((always_inline)) void add_late(int who)
{
	int value;

	pthread_mutex_lock(&m);
	value = total;
	pthread_mutex_unlock(&m);
	order_next();
	order_wait(3 - who);
	pthread_mutex_lock(&m);
	total = value + 1;
	pthread_mutex_unlock(&m);
}

static void work(int who)
{
	order_wait(who);
	add_late(who);
	order_next();
}

static void *worker(void *arg)
{
	work(*(int *)arg);
	return NULL;
}

int main(void)
{
	int who[2] = {0, 1};
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, &who[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
