/*
 * Correct but noisy: a thread pool with two condition variables. Workers wait for jobs, release the
 * lock while a job runs, and take it again to count it as finished; the main thread waits until the
 * pool is idle, submits a second batch, and stops the pool. Every worker visits the same queue and
 * the same counters many times, and others come in between each time; every visit checks its
 * condition again.
 */
#include <pthread.h>
#include "prove.h"

enum { WORKERS = 3, JOBS = 20, BATCHES = 2 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some_work, idle;
	int jobs[JOBS];
	int first, count, active, sum;
	bool stopping;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .some_work = PTHREAD_COND_INITIALIZER,
	  .idle = PTHREAD_COND_INITIALIZER};

static int run_job(int job)
{
	int result = 0;

	for (int i = 0; i < job; i++)
		result += i;
	return result;
}

static void *run_worker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		while (pool.count == 0 && !pool.stopping)
			pthread_cond_wait(&pool.some_work, &pool.lock);
		if (pool.count == 0)
			break;
		int job = pool.jobs[pool.first];
		pool.first = (pool.first + 1) % JOBS;
		pool.count--;
		pool.active++;
		pthread_mutex_unlock(&pool.lock);
		int result = run_job(job);
		pthread_mutex_lock(&pool.lock);
		pool.sum += result;
		if (--pool.active == 0 && pool.count == 0)
			pthread_cond_signal(&pool.idle);
	}
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static void submit_job(int job)
{
	pthread_mutex_lock(&pool.lock);
	pool.jobs[(pool.first + pool.count) % JOBS] = job;
	pool.count++;
	pthread_cond_signal(&pool.some_work);
	pthread_mutex_unlock(&pool.lock);
}

static void wait_until_idle(void)
{
	pthread_mutex_lock(&pool.lock);
	while (pool.count > 0 || pool.active > 0)
		pthread_cond_wait(&pool.idle, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}

static void stop_pool(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.stopping = true;
	pthread_cond_broadcast(&pool.some_work);
	pthread_mutex_unlock(&pool.lock);
}

int main(void)
{
	pthread_t workers[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, run_worker, NULL);
	for (int batch = 0; batch < BATCHES; batch++) {
		for (int job = 0; job < JOBS; job++)
			submit_job(job);
		wait_until_idle();
	}
	stop_pool();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return print_outcome(pool.sum == BATCHES * 1140);
}
