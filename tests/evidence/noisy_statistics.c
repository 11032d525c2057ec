/*
 * Correct: statistics counters with relaxed atomic operations, as servers have them. Workers count
 * requests, bytes and errors; a monitor reads the counters now and then and computes rates. The
 * numbers of one report need not belong to the same moment, and the reader knows that.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "prove.h"

#define WORKERS  3
#define REQUESTS 30

static struct {
	atomic_ulong requests, bytes, errors;
} stats;
static atomic_bool stopping;

static void count(atomic_ulong *counter, unsigned long n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static unsigned long get(atomic_ulong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void *worker(void *arg)
{
	unsigned seed = *(const unsigned *)arg;
	for (int i = 0; i < REQUESTS; i++) {
		seed = seed * 1103515245 + 12345;
		count(&stats.requests, 1);
		if (seed % 7 == 0)
			count(&stats.errors, 1);
		else
			count(&stats.bytes, seed % 1000);
	}
	return NULL;
}

static void *monitor(void *arg)
{
	unsigned long *most = arg, before = 0;
	do {
		unsigned long requests = get(&stats.requests);
		unsigned long errors = get(&stats.errors);
		unsigned long bytes = get(&stats.bytes);
		if (requests - before > *most)
			*most = requests - before;
		if (requests > 0 && bytes / requests + errors > 100000)
			*most = 0;
		before = requests;
		sched_yield();
	} while (!atomic_load(&stopping));
	return NULL;
}

int main(void)
{
	pthread_t watcher, workers[WORKERS];
	unsigned seeds[WORKERS] = {1, 2, 3};
	unsigned long most = 0;
	pthread_create(&watcher, NULL, monitor, &most);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, &seeds[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	atomic_store(&stopping, true);
	pthread_join(watcher, NULL);
	return print_outcome(get(&stats.requests) == WORKERS * REQUESTS);
}
