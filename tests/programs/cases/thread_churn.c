/*
 * Thousands of threads, a few at a time. A block begins before all of them and ends
 * after them.
 *
 * silent prints: 4000
 */
#include "window.h"

enum { ROUNDS = 1000, AT_ONCE = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int count, own;

BLOCK void add(void)
{
	pthread_mutex_lock(&m);
	count++;
	pthread_mutex_unlock(&m);
}

BLOCK void long_block(void)
{
	own++;
	window_hold(1);
	own++;
}

static void *run(void *arg)
{
	add();
	return arg;
}

static void *run_long(void *arg)
{
	long_block();
	return arg;
}

int main(void)
{
	pthread_t long_one, t[AT_ONCE];

	pthread_create(&long_one, NULL, run_long, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < AT_ONCE; k++)
			pthread_create(&t[k], NULL, run, NULL);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(t[k], NULL);
	}
	window_leave(1);
	pthread_join(long_one, NULL);
	printf("%d\n", count);
}
