/*
 * A queue with a worker that runs only while there is work, as in event loops and in the deferred
 * work of kernels. The worker sees under the lock that the queue is empty, releases the lock, and
 * then takes it again to say that it no longer runs. A job that is submitted in between is not
 * started: the submitter still sees a running worker. The job waits for ever.
 *
 * Meant to be atomic: finding the queue empty and becoming idle. The twin does both in one critical
 * section.
 */
// expect: function=run_worker variable=jobs,running class=work-queue where=thread
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs = 3, finished;
static bool running = true;

static void *run_worker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&queue_lock);
	while (jobs > 0) {
		jobs--;
		finished++;
	}
#ifndef FIXED
	pthread_mutex_unlock(&queue_lock);
	pass_window();
	pthread_mutex_lock(&queue_lock);
#endif
	running = false;
	pthread_mutex_unlock(&queue_lock);
	return NULL;
}

static void *submit_job(void *arg)
{
	bool start;

	(void)arg;
	usleep(1000); /* The next job usually comes later. */
	pthread_mutex_lock(&queue_lock);
	jobs++;
	start = !running;
	running = true;
	pthread_mutex_unlock(&queue_lock);
	if (start)
		run_worker(NULL);
	return NULL;
}

int main(void)
{
	pthread_t worker, client;

	pthread_create(&worker, NULL, run_worker, NULL);
	pthread_create(&client, NULL, submit_job, NULL);
	pthread_join(client, NULL);
	pthread_join(worker, NULL);
	return print_outcome(jobs == 0 && finished == 4);
}
