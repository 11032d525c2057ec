/*
 * Correct but noisy: a configuration is published through an atomic pointer in the manner of RCU.
 * Readers announce themselves in a counter of their own, load the pointer once, and use what it
 * points to. The writer publishes a copy, waits until every reader has left, and frees the old
 * configuration. A reader may use an old configuration while a newer one is already published; that
 * is the intended bargain.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "prove.h"

enum { READERS = 2, READS = 40, UPDATES = 10 };

struct config {
	int timeout;
	int retries; /* always twice the timeout */
};

static struct config *_Atomic current;
static atomic_int inside[READERS];
static int torn[READERS];

static void enter_reader(int me)
{
	atomic_store(&inside[me], 1);
}

static void leave_reader(int me)
{
	atomic_store(&inside[me], 0);
}

static void *read_config(void *arg)
{
	int me = *(int *)arg;

	for (int i = 0; i < READS; i++) {
		enter_reader(me);
		struct config *c = atomic_load(&current);
		if (c->retries != 2 * c->timeout)
			torn[me]++;
		leave_reader(me);
	}
	return NULL;
}

static void wait_for_readers(void)
{
	for (int i = 0; i < READERS; i++)
		while (atomic_load(&inside[i]))
			sched_yield();
}

static struct config *make_config(int timeout)
{
	struct config *c = malloc(sizeof *c);

	if (!c)
		abort();
	c->timeout = timeout;
	c->retries = 2 * timeout;
	return c;
}

static void *update_config(void *arg)
{
	(void)arg;
	for (int i = 1; i <= UPDATES; i++) {
		struct config *old = atomic_exchange(&current, make_config(i));
		wait_for_readers();
		free(old);
	}
	return NULL;
}

int main(void)
{
	pthread_t readers[READERS], writer;
	int numbers[READERS];

	atomic_init(&current, make_config(0));
	for (int i = 0; i < READERS; i++) {
		numbers[i] = i;
		pthread_create(&readers[i], NULL, read_config, &numbers[i]);
	}
	pthread_create(&writer, NULL, update_config, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	pthread_join(writer, NULL);
	free(atomic_load(&current));
	return print_outcome(!torn[0] && !torn[1]);
}
