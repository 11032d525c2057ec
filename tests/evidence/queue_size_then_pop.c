/*
 * The textbook misuse of a thread-safe queue: a worker asks whether the queue has an element and
 * then removes one. Each of the two functions takes the lock. Between them another worker can
 * remove the last element, and the first worker removes one that is not there. Java's collections
 * and many C queues warn of this in their manuals.
 *
 * Meant to be atomic: the question and the removal. The twin asks and removes in one function under
 * the lock.
 */
// expect: function=work variable=count,items class=work-queue where=loop
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

enum { JOBS = 11, WORKERS = 2 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int items[JOBS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static int count = JOBS;
static int done[WORKERS];

#ifdef FIXED
/* Returns false if the queue is empty. */
static bool try_pop(int *item)
{
	pthread_mutex_lock(&queue_lock);
	bool some = count > 0;
	if (some)
		*item = items[--count];
	pthread_mutex_unlock(&queue_lock);
	return some;
}
#else
static int queue_size(void)
{
	pthread_mutex_lock(&queue_lock);
	int size = count;
	pthread_mutex_unlock(&queue_lock);
	return size;
}

/* Must not be called for an empty queue; returns 0 then. */
static int queue_pop(void)
{
	pthread_mutex_lock(&queue_lock);
	int item = count > 0 ? items[count - 1] : 0;
	count--;
	pthread_mutex_unlock(&queue_lock);
	return item;
}
#endif

static int run_job(int item)
{
	usleep(1000); /* A job reads from a disk. */
	return item;
}

static void *work(void *arg)
{
	int *sum = arg;

#ifdef FIXED
	for (int item; try_pop(&item);)
		*sum += run_job(item);
#else
	while (queue_size() > 0) {
		pass_window();
		*sum += run_job(queue_pop());
	}
#endif
	return NULL;
}

int main(void)
{
	pthread_t workers[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, &done[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return print_outcome(count == 0 && done[0] + done[1] == JOBS * (JOBS + 1) / 2);
}
