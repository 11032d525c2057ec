/*
 * repeats THREADS ROUNDS: one thread keeps losing its updates to another, each time at the same
 * places; in the last eighth of the rounds the other thread writes at another place. Meanwhile
 * THREADS other threads are in the middle of a block, each after some work of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "repeats_order.h"

#define BLOCK __attribute__((noinline))

enum { WORK = 3000 };
static volatile long counter;
static long rounds;

BLOCK static void update(void)
{
	long v = counter;

	order_pass(0);
	order_wait(0);
	counter = v + 1;
}

BLOCK static void cut(void)
{
	counter = 5;
}

BLOCK static void cut_elsewhere(void)
{
	counter = 7;
}

static void *first(void *arg)
{
	for (long i = 0; i < rounds; i++)
		update();
	return arg;
}

static void *second(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		order_wait(1);
		if (i < rounds - rounds / 8)
			cut();
		else
			cut_elsewhere();
		order_pass(1);
	}
	return arg;
}

BLOCK static int stay(long *own)
{
	for (int i = 0; i < WORK; i++)
		own[i] += i;
	order_arrive();
	return own[1] != 1;
}

static void *idle(void *arg)
{
	return stay(arg) ? arg : NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[2], *more = calloc((size_t)n, sizeof *more);
	long *own = calloc((size_t)n * WORK, sizeof *own);

	rounds = argc > 2 ? atol(argv[2]) : 100;
	for (int i = 0; i < n; i++)
		pthread_create(&more[i], NULL, idle, own + (size_t)i * WORK);
	order_await_arrivals(n);
	pthread_create(&t[0], NULL, first, NULL);
	pthread_create(&t[1], NULL, second, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	order_dismiss();
	for (int i = 0; i < n; i++)
		pthread_join(more[i], NULL);
	printf("%ld rounds\n", rounds);
	return 0;
}
