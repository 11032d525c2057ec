/*
 * windows TIMES: a block that another thread cuts every time, while two other threads hand memory
 * back and forth, inside blocks and outside. Each of the cuts must be counted, at each of its
 * places.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK __attribute__((noinline)) static
enum { NOISE = 1024 };

static pthread_mutex_t balance_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t noise_lock = PTHREAD_MUTEX_INITIALIZER;
static int balance, turn, over, times;
static long noise[NOISE];

static void wait_for(int whose)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != whose)
		sched_yield();
}

BLOCK void update(void)
{
	int b;

	pthread_mutex_lock(&balance_lock);
	b = balance;
	pthread_mutex_unlock(&balance_lock);
	__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
	wait_for(2);
	pthread_mutex_lock(&balance_lock);
	balance = b + 1;
	pthread_mutex_unlock(&balance_lock);
}

BLOCK void cut(void)
{
	pthread_mutex_lock(&balance_lock);
	balance += 10;
	pthread_mutex_unlock(&balance_lock);
}

static void stir(unsigned *random, int n)
{
	pthread_mutex_lock(&noise_lock);
	for (int i = 0; i < n; i++) {
		*random = *random * 1664525U + 1013904223U;
		noise[*random / (1U << 22)] += i;
	}
	pthread_mutex_unlock(&noise_lock);
}

BLOCK void stir_in_block(unsigned *random)
{
	stir(random, 3);
}

static void *updates(void *arg)
{
	for (int i = 0; i < times; i++)
		update();
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	return arg;
}

static void *cuts(void *arg)
{
	for (int i = 0; i < times; i++) {
		wait_for(1);
		cut();
		__atomic_store_n(&turn, 2, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *stirs(void *arg)
{
	unsigned random = *(unsigned *)arg;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		stir_in_block(&random);
		stir(&random, 5);
		sched_yield();
	}
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const does[])(void *) = {updates, cuts, stirs, stirs};
	unsigned seed[] = {1, 2, 3, 4};
	pthread_t thread[4];

	times = argc > 1 ? atoi(argv[1]) : 100;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, does[i], &seed[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("balance %d\n", balance);
	return 0;
}
