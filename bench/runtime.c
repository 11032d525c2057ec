/*
 * Measure what the runtime costs per event: nanoseconds of processor time for an access, a lock and
 * unlock, a call and return, and an atomic addition. A second thread exists meanwhile, because the
 * runtime does not note accesses of a single thread.
 *
 *	build/bin/atomsan-cc -O2 -pthread bench/runtime.c -o runtime-cost
 *	ATOMSAN_OPTIONS=record=cost.raw ./runtime-cost
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 1000000, ROUNDS = 7 };

static long word[16];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void called(void)
{
	__asm__ volatile("");
}

static void accesses(void)
{
	for (int i = 0; i < TIMES; i++) {
		word[i % 16] = i;
		__asm__ volatile("" ::: "memory");
	}
}

static void locks(void)
{
	for (int i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

/* Keeps the compiler from omitting the hooks of a function that does nothing. */
static __attribute__((noinline)) void calls_one(int i)
{
	if (i < 0)
		word[0] = i;
	called();
}

static void calls(void)
{
	for (int i = 0; i < TIMES; i++)
		calls_one(i);
}

static void atomics(void)
{
	for (int i = 0; i < TIMES; i++)
		__atomic_fetch_add(&word[0], 1, __ATOMIC_SEQ_CST);
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

static void measure(const char *what, void (*fn)(void))
{
	double best = 1e30;

	for (int i = 0; i < ROUNDS; i++) {
		double before = now(), took;

		fn();
		took = now() - before;
		if (took < best)
			best = took;
	}
	printf("%-10s %6.1f ns\n", what, best / TIMES);
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, idle, NULL);
	measure("access", accesses);
	measure("lock pair", locks);
	measure("call", calls);
	measure("atomic", atomics);
	return 0;
}
