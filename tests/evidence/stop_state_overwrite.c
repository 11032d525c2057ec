/*
 * A worker with a state (idle, busy, stopping), as in Mozilla's and Apache's threads. The worker
 * reads the state under the lock, does its job without it, and writes "idle" under it. If the
 * server asks it to stop during the job, the request is overwritten, and the worker goes on.
 * Reading and writing the state are meant to be one step of the state machine.
 *
 * The twin writes "idle" only if the state is still "busy".
 */
// expect: function=worker variable=state class=stop-flag where=loop
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

#define JOBS 20

enum { IDLE, BUSY, STOPPING };

static int state = IDLE;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned do_job(unsigned seed)
{
	for (int i = 0; i < 200; i++)
		seed = seed * 1103515245 + 12345;
	pass_window();
	return seed;
}

static void *worker(void *arg)
{
	unsigned *result = arg;
	for (int job = 0; job < JOBS; job++) {
		pthread_mutex_lock(&state_lock);
		int before = state;
		if (before == IDLE)
			state = BUSY;
		pthread_mutex_unlock(&state_lock);
		if (before == STOPPING)
			break;

		*result = do_job(*result);

		pthread_mutex_lock(&state_lock);
#ifdef FIXED
		if (state == BUSY)
#endif
			state = IDLE;
		pthread_mutex_unlock(&state_lock);
	}
	return NULL;
}

static void *stop_worker(void *arg)
{
	(void)arg;
	usleep(5000); /* A worker usually does some jobs first. */
	pthread_mutex_lock(&state_lock);
	state = STOPPING;
	pthread_mutex_unlock(&state_lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	unsigned result = 1;
	pthread_create(&threads[0], NULL, worker, &result);
	pthread_create(&threads[1], NULL, stop_worker, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(state == STOPPING);
}
