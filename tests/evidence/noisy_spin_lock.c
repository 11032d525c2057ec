/*
 * Correct: a spin lock made of an atomic flag, as in many allocators and databases, with
 * exponential back-off, protects a hash table of counters. The lock's own operations (read, then
 * exchange; store) are interleaved with those of other threads all the time, and the data under it
 * never is.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "prove.h"

#define BUCKETS 4
#define ROUNDS  60

struct spin {
	atomic_int taken;
};

static struct spin lock;
static struct {
	int key, count;
} table[BUCKETS];
static int total;

static void spin_lock(struct spin *s)
{
	for (int tries = 1;; tries++) {
		if (atomic_load_explicit(&s->taken, memory_order_relaxed) == 0 &&
		    atomic_exchange_explicit(&s->taken, 1, memory_order_acquire) == 0)
			return;
		if (tries % 16 == 0)
			sched_yield();
	}
}

static void spin_unlock(struct spin *s)
{
	atomic_store_explicit(&s->taken, 0, memory_order_release);
}

static void count_key(int key)
{
	int i = key % BUCKETS;
	spin_lock(&lock);
	if (table[i].key != key) {
		table[i].key = key;
		table[i].count = 0;
	}
	table[i].count++;
	total++;
	spin_unlock(&lock);
}

static void *counter(void *arg)
{
	int first = *(const int *)arg;
	for (int i = 0; i < ROUNDS; i++)
		count_key(first + i % 5);
	spin_lock(&lock);
	int before = total;
	total = before + 1;
	spin_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	int first[3] = {1, 3, 5};
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, counter, &first[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(total == 3 * (ROUNDS + 1));
}
