/*
 * bank THREADS DEPOSITS: threads that cut each other's deposit(), and work on memory of their own
 * that no other thread accesses. With an environment variable GOOD, deposit() keeps its lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomsan/atomsan.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static long balance;
static int deposits, good;

__attribute__((noinline)) static long get(void)
{
	pthread_mutex_lock(&m);
	long b = balance;
	pthread_mutex_unlock(&m);
	return b;
}

__attribute__((noinline)) static void set(long b)
{
	pthread_mutex_lock(&m);
	balance = b;
	pthread_mutex_unlock(&m);
}

__attribute__((noinline)) void deposit(void)
{
	if (good) {
		pthread_mutex_lock(&m);
		balance++;
		pthread_mutex_unlock(&m);
	} else {
		long b = get();

		if (b % 8 == 0)
			usleep(100);
		set(b + 1);
	}
}

__attribute__((noinline)) void own_work(long *v)
{
	for (int i = 0; i < 64; i++)
		v[i]++;
}

static void *customer(void *arg)
{
	/* In lines that no other thread accesses. */
	long *v = memset(aligned_alloc(64, 64 * sizeof *v), 0, 64 * sizeof *v);

	pthread_barrier_wait(&start);
	for (int i = 0; i < deposits; i++) {
		deposit();
		own_work(v);
		if (i % 16 == 0 && !good) {
			/* A marked block, which is no function, cut in the same way. */
			ATOMSAN_ATOMIC("the audit");
			long b = get();

			usleep(100);
			set(b);
		}
	}
	free(v);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[16];

	deposits = argc > 2 ? atoi(argv[2]) : 2000;
	good = getenv("GOOD") != NULL;
	pthread_barrier_init(&start, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, customer, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	puts("done");
	return 0;
}
