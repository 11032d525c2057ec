/*
 * Producers and consumers with condition variables. put() and take() wait, so
 * they are no blocks by default; what they call is.
 *
 * silent prints: sum 20100
 */
#include "window.h"

enum { SLOTS = 4, EACH = 100 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int slot[SLOTS], used;
static long sum;

BLOCK void push(int x)
{
	slot[used++] = x;
}

BLOCK int pop(void)
{
	return slot[--used];
}

BLOCK void put(int x)
{
	pthread_mutex_lock(&m);
	while (used == SLOTS)
		pthread_cond_wait(&not_full, &m);
	push(x);
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&m);
}

BLOCK int take(void)
{
	pthread_mutex_lock(&m);
	while (used == 0)
		pthread_cond_wait(&not_empty, &m);
	int x = pop();
	pthread_cond_broadcast(&not_full);
	pthread_mutex_unlock(&m);
	return x;
}

BLOCK void add_up(int x)
{
	pthread_mutex_lock(&m);
	sum += x;
	pthread_mutex_unlock(&m);
}

static void *produce(void *arg)
{
	int base = *(int *)arg;

	for (int i = 1; i <= EACH; i++)
		put(base + i);
	return NULL;
}

static void *consume(void *arg)
{
	for (int i = 0; i < EACH; i++)
		add_up(take());
	return arg;
}

int main(void)
{
	static int base[2] = {0, EACH};
	pthread_t t[4];

	for (int i = 0; i < 2; i++) {
		pthread_create(&t[i], NULL, produce, &base[i]);
		pthread_create(&t[2 + i], NULL, consume, NULL);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("sum %ld\n", sum);
}
