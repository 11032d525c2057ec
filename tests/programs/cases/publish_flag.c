/*
 * A thread writes data and then a flag; the reader waits for the flag. No bug.
 *
 * silent prints: 41 42
 */
#include <stdatomic.h>

#include "window.h"

static int data, answer;
static atomic_int ready, taken;

BLOCK void publish(void)
{
	data = 41;
	atomic_store_explicit(&ready, 1, memory_order_release);
}

BLOCK int consume(void)
{
	int d = data;

	answer = d + 1;
	atomic_store_explicit(&taken, 1, memory_order_release);
	return d;
}

static void *writer(void *arg)
{
	await(1);
	publish();
	while (!atomic_load_explicit(&taken, memory_order_acquire))
		;
	data = answer;
	return arg;
}

static void *reader(void *arg)
{
	while (!atomic_load_explicit(&ready, memory_order_acquire))
		reached(1);
	*(int *)arg = consume();
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;
	int seen = 0;

	pthread_create(&t1, NULL, writer, NULL);
	pthread_create(&t2, NULL, reader, &seen);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	printf("%d %d\n", seen, data);
}
