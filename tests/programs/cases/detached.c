/*
 * Threads that are never joined, detached in three ways.
 *
 * silent prints: 3
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int done;

BLOCK void finish(void)
{
	pthread_mutex_lock(&m);
	done++;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&m);
}

static void *run(void *arg)
{
	if (arg)
		pthread_detach(pthread_self());
	finish();
	return NULL;
}

BLOCK void wait_for_all(void)
{
	pthread_mutex_lock(&m);
	while (done < 3)
		pthread_cond_wait(&cond, &m);
	pthread_mutex_unlock(&m);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_create(&t, &attr, run, NULL);
	pthread_attr_destroy(&attr);
	pthread_create(&t, NULL, run, NULL);
	pthread_detach(t);
	pthread_create(&t, NULL, run, &attr);
	wait_for_all();
	printf("%d\n", done);
}
