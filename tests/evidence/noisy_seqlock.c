/*
 * Correct but noisy: a sequence lock protects a pair of coordinates. The writer makes the sequence
 * number odd, writes, and makes it even again. A reader reads the number, the coordinates, and the
 * number again, and starts over if the number was odd or has changed. The data are atomic variables
 * with the orders that Boehm's paper on sequence locks asks for. A reader is cut in two by the
 * writer quite often, notices it, and starts over.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "prove.h"

enum { READERS = 2, READS = 50, WRITES = 50 };

static struct {
	atomic_uint sequence;
	atomic_int x, y;
} position;

static int torn[READERS];

static void write_position(int x, int y)
{
	unsigned s = atomic_load_explicit(&position.sequence, memory_order_relaxed);

	atomic_store_explicit(&position.sequence, s + 1, memory_order_relaxed);
	atomic_store_explicit(&position.x, x, memory_order_release);
	atomic_store_explicit(&position.y, y, memory_order_release);
	atomic_store_explicit(&position.sequence, s + 2, memory_order_release);
}

static void read_position(int *x, int *y)
{
	for (;;) {
		unsigned before = atomic_load_explicit(&position.sequence, memory_order_acquire);
		*x = atomic_load_explicit(&position.x, memory_order_acquire);
		*y = atomic_load_explicit(&position.y, memory_order_acquire);
		unsigned after = atomic_load_explicit(&position.sequence, memory_order_relaxed);
		if (before == after && before % 2 == 0)
			return;
		sched_yield();
	}
}

static void *read_loop(void *arg)
{
	int *mine = arg, x, y;

	for (int i = 0; i < READS; i++) {
		read_position(&x, &y);
		if (y != 3 * x)
			++*mine;
	}
	return NULL;
}

static void *write_loop(void *arg)
{
	(void)arg;
	for (int i = 1; i <= WRITES; i++)
		write_position(i, 3 * i);
	return NULL;
}

int main(void)
{
	pthread_t readers[READERS], writer;

	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, read_loop, &torn[i]);
	pthread_create(&writer, NULL, write_loop, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	pthread_join(writer, NULL);
	return print_outcome(!torn[0] && !torn[1]);
}
