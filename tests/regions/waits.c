/*
 * An update is lost in functions that are no blocks by default: tally() waits, and tally_all()
 * is a start function that waits. The source says that told() is not atomic. waits
 * called|start|declared
 */
#include <atomsan/atomsan.h>
#include <pthread.h>

#include "order.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int total;

static void tally(int who)
{
	int value;

	order_wait(who);
	pthread_mutex_lock(&m);
	value = total;
	pthread_mutex_unlock(&m);
	order_next();
	order_wait(3 - who);
	pthread_mutex_lock(&m);
	total = value + 1;
	pthread_mutex_unlock(&m);
	order_next();
	pthread_barrier_wait(&both);
}

static void *worker(void *arg)
{
	tally(*(int *)arg);
	return NULL;
}

static void told(int who)
{
	int value;

	order_wait(who);
	pthread_mutex_lock(&m);
	value = total;
	pthread_mutex_unlock(&m);
	order_next();
	order_wait(3 - who);
	pthread_mutex_lock(&m);
	total = value + 1;
	pthread_mutex_unlock(&m);
	order_next();
	ATOMSAN_NOT_ATOMIC; /* not known before it is blamed */
}

static void *teller(void *arg)
{
	told(*(int *)arg);
	return NULL;
}

static void *tally_all(void *arg)
{
	int who = *(int *)arg, value;

	order_wait(who);
	pthread_mutex_lock(&m);
	value = total;
	pthread_mutex_unlock(&m);
	order_next();
	order_wait(3 - who);
	pthread_mutex_lock(&m);
	total = value + 1;
	pthread_mutex_unlock(&m);
	order_next();
	pthread_barrier_wait(&both);
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*start)(void *) = argv[argc - 1][0] == 's'   ? tally_all
				 : argv[argc - 1][0] == 'd' ? teller
							    : worker;
	int who[2] = {0, 1};
	pthread_t t[2];

	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, start, &who[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
