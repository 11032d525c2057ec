/*
 * A thousand threads alive at once.
 *
 * silent prints: 1000 arrived, 1000 left
 */
#include "window.h"

enum { THREADS = 1000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int arrived, gone;

BLOCK void arrive(void)
{
	pthread_mutex_lock(&m);
	if (++arrived == THREADS)
		pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&m);
}

BLOCK void wait_for_all(void)
{
	pthread_mutex_lock(&m);
	while (arrived < THREADS)
		pthread_cond_wait(&cond, &m);
	pthread_mutex_unlock(&m);
}

BLOCK void leave(void)
{
	pthread_mutex_lock(&m);
	gone++;
	pthread_mutex_unlock(&m);
}

static void *run(void *arg)
{
	arrive();
	wait_for_all();
	leave();
	return arg;
}

int main(void)
{
	static pthread_t t[THREADS];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], &attr, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d arrived, %d left\n", arrived, gone);
}
