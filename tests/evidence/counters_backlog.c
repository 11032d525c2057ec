/*
 * A server counts the requests that it accepted and those that it finished, each counter with its
 * own lock. The monitor reads one counter and then the other and subtracts. Requests that are
 * accepted and finished in between make the backlog negative; as an unsigned number it is huge, and
 * the monitor raises an alarm. Load balancers have refused all traffic because of such numbers.
 *
 * Meant to be atomic: reading the two counters. The twin has one lock for both counters.
 */
// expect: function=monitor variable=accepted,finished class=torn-pair where=loop
#include <pthread.h>
#include <semaphore.h>
#include "prove.h"

enum { REQUESTS = 20, LOOKS = 10 };

#ifdef FIXED
static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;
#define accepted_lock counter_lock
#define finished_lock counter_lock
#else
static pthread_mutex_t accepted_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t finished_lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static unsigned accepted, finished;
static sem_t requests;
static int alarms;

static void *accept_requests(void *arg)
{
	(void)arg;
	for (int i = 0; i < REQUESTS; i++) {
		pthread_mutex_lock(&accepted_lock);
		accepted++;
		pthread_mutex_unlock(&accepted_lock);
		sem_post(&requests);
	}
	return NULL;
}

static void *finish_requests(void *arg)
{
	(void)arg;
	for (int i = 0; i < REQUESTS; i++) {
		sem_wait(&requests);
		pthread_mutex_lock(&finished_lock);
		finished++;
		pthread_mutex_unlock(&finished_lock);
	}
	return NULL;
}

static void *monitor(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOOKS; i++) {
#ifdef FIXED
		pthread_mutex_lock(&counter_lock);
		unsigned backlog = accepted - finished;
		pthread_mutex_unlock(&counter_lock);
#else
		pthread_mutex_lock(&accepted_lock);
		unsigned in = accepted;
		pthread_mutex_unlock(&accepted_lock);
		pass_window();
		pthread_mutex_lock(&finished_lock);
		unsigned backlog = in - finished;
		pthread_mutex_unlock(&finished_lock);
#endif
		if (backlog > 1000)
			alarms++;
	}
	return NULL;
}

int main(void)
{
	pthread_t acceptor, worker, watcher;

	sem_init(&requests, 0, 0);
	pthread_create(&watcher, NULL, monitor, NULL);
	pthread_create(&acceptor, NULL, accept_requests, NULL);
	pthread_create(&worker, NULL, finish_requests, NULL);
	pthread_join(watcher, NULL);
	pthread_join(acceptor, NULL);
	pthread_join(worker, NULL);
	return print_outcome(alarms == 0);
}
