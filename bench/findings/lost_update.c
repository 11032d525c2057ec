/*
 * lost_update [THREADS [ROUNDS]]: each of many threads adds to a counter, but reads and writes it
 * under the lock in two steps, so that updates are lost. All threads run at the same time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_here;
static long counter;
static int rounds;

static long get(void)
{
	long v;

	pthread_mutex_lock(&lock);
	v = counter;
	pthread_mutex_unlock(&lock);
	return v;
}

static void set(long v)
{
	pthread_mutex_lock(&lock);
	counter = v;
	pthread_mutex_unlock(&lock);
}

static void add_one(void)
{
	long v = get();

	sched_yield();
	set(v + 1);
}

static void *work(void *arg)
{
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < rounds; i++)
		add_one();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 300;
	pthread_t *thread;

	rounds = argc > 2 ? atoi(argv[2]) : 200;
	if (n < 1 || rounds < 1) {
		fprintf(stderr, "usage: lost_update [THREADS [ROUNDS]]\n");
		return 2;
	}
	thread = calloc((size_t)n, sizeof *thread);
	pthread_barrier_init(&all_here, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	if (counter < 1 || counter > (long)n * rounds) {
		printf("lost_update: WRONG: the counter is %ld\n", counter);
		return 1;
	}
	printf("lost_update: ok\n");
	return 0;
}
