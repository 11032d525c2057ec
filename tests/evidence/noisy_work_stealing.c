/*
 * Correct: each worker has a deque of tasks with a lock of its own. A worker takes tasks from the
 * back of its deque; if that is empty, it steals from the front of another one. A task is an
 * interval to sum up, and is split in two if it is long. An atomic counter of the open tasks ends
 * the workers.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "prove.h"

#define WORKERS 3
#define MOST    64
#define NUMBERS 256

struct task {
	int from, to;
};

static struct deque {
	pthread_mutex_t lock;
	int front, back; /* of a ring */
	struct task tasks[MOST];
} deques[WORKERS];
static atomic_int open_tasks;
static atomic_long sum;

static void push_task(struct deque *d, struct task task)
{
	atomic_fetch_add(&open_tasks, 1);
	pthread_mutex_lock(&d->lock);
	d->tasks[d->back++ % MOST] = task;
	pthread_mutex_unlock(&d->lock);
}

static bool take_task(struct deque *d, bool steal, struct task *task)
{
	pthread_mutex_lock(&d->lock);
	bool any = d->front < d->back;
	if (any)
		*task = d->tasks[(steal ? d->front++ : --d->back) % MOST];
	pthread_mutex_unlock(&d->lock);
	return any;
}

static bool find_task(int me, struct task *task)
{
	if (take_task(&deques[me], false, task))
		return true;
	for (int i = 1; i < WORKERS; i++)
		if (take_task(&deques[(me + i) % WORKERS], true, task))
			return true;
	return false;
}

static void run_task(int me, struct task task)
{
	if (task.to - task.from > 16) {
		int middle = (task.from + task.to) / 2;
		push_task(&deques[me], (struct task){task.from, middle});
		push_task(&deques[me], (struct task){middle, task.to});
	} else {
		long part = 0;
		for (int i = task.from; i < task.to; i++)
			part += i;
		atomic_fetch_add(&sum, part);
	}
	atomic_fetch_sub(&open_tasks, 1);
}

static void *worker(void *arg)
{
	int me = *(const int *)arg;
	struct task task;
	while (atomic_load(&open_tasks) > 0) {
		if (find_task(me, &task))
			run_task(me, task);
		else
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	int number[WORKERS];
	for (int i = 0; i < WORKERS; i++)
		pthread_mutex_init(&deques[i].lock, NULL);
	push_task(&deques[0], (struct task){0, NUMBERS});
	for (int i = 0; i < WORKERS; i++) {
		number[i] = i;
		pthread_create(&threads[i], NULL, worker, &number[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(sum == (long)NUMBERS * (NUMBERS - 1) / 2);
}
