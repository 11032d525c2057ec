/*
 * Code that is in no block: a start function with a loop that waits, and loses updates in three
 * ways. The comments name what `atomsan predict` must say about it; see run.
 */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static int waiting, go, direct, called, plain, fine;

static int get(const int *from)
{
	pthread_mutex_lock(&m);
	int value = *from;
	pthread_mutex_unlock(&m);
	return value;
}

static void set(int *to, int value)
{
	pthread_mutex_lock(&m);
	*to = value;
	pthread_mutex_unlock(&m);
}

static void add(int *to)
{
	pthread_mutex_lock(&m);
	++*to;
	pthread_mutex_unlock(&m);
}

static void *worker(void *arg)
{
	pthread_mutex_lock(&m);
	waiting++;
	pthread_cond_broadcast(&started);
	while (!go)
		pthread_cond_wait(&started, &m);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 3; i++) {
		/* direct: a pair in the function itself. */
		pthread_mutex_lock(&m);
		int value = direct;
		pthread_mutex_unlock(&m);
		pthread_mutex_lock(&m);
		direct = value + 1;
		pthread_mutex_unlock(&m);

		/* called: a pair in two blocks that the function calls. */
		set(&called, get(&called) + 1);

		/* fine: each update is atomic, and the next round reads the value again. */
		add(&fine);
		add(&fine);
	}
	plain++;
	return arg;
}

/* Begins last, at the same place as the workers; what they do is still theirs. */
static void *starter(void *arg)
{
	pthread_mutex_lock(&m);
	while (waiting < 2)
		pthread_cond_wait(&started, &m);
	go = 1;
	pthread_cond_broadcast(&started);
	pthread_mutex_unlock(&m);
	return arg;
}

int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	pthread_create(&t[2], NULL, starter, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%d %d\n", direct, fine);
	return 0;
}
