/*
 * Correct but noisy: messages go through a ring for one producer and one consumer that needs no
 * lock. The producer owns the tail and the consumer owns the head; each loads the other's index
 * with acquire and stores its own with release. Both check for space or messages and then act,
 * which is safe because the other side can only make more.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "prove.h"

enum { SLOTS = 8, MESSAGES = 100 };

static struct {
	atomic_uint head; /* written by the consumer */
	atomic_uint tail; /* written by the producer */
	int slots[SLOTS];
} ring;

static long sum;

/* Returns false if the ring is full. */
static bool try_send(int message)
{
	unsigned tail = atomic_load_explicit(&ring.tail, memory_order_relaxed);
	unsigned head = atomic_load_explicit(&ring.head, memory_order_acquire);

	if (tail - head == SLOTS)
		return false;
	ring.slots[tail % SLOTS] = message;
	atomic_store_explicit(&ring.tail, tail + 1, memory_order_release);
	return true;
}

/* Returns false if the ring is empty. */
static bool try_receive(int *message)
{
	unsigned head = atomic_load_explicit(&ring.head, memory_order_relaxed);
	unsigned tail = atomic_load_explicit(&ring.tail, memory_order_acquire);

	if (head == tail)
		return false;
	*message = ring.slots[head % SLOTS];
	atomic_store_explicit(&ring.head, head + 1, memory_order_release);
	return true;
}

static void *produce(void *arg)
{
	(void)arg;
	for (int i = 1; i <= MESSAGES; i++)
		while (!try_send(i))
			sched_yield();
	return NULL;
}

static void *consume(void *arg)
{
	int message;

	(void)arg;
	for (int i = 0; i < MESSAGES; i++) {
		while (!try_receive(&message))
			sched_yield();
		sum += message;
	}
	return NULL;
}

int main(void)
{
	pthread_t producer, consumer;

	pthread_create(&producer, NULL, produce, NULL);
	pthread_create(&consumer, NULL, consume, NULL);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	return print_outcome(sum == MESSAGES * (MESSAGES + 1) / 2);
}
