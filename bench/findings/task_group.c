/*
 * task_group [THREADS [THOUSANDS]]: threads share that many thousand small tasks. Each thread has a
 * deque under a spin lock, and steals from the others when its own is empty, as in oneTBB. A task
 * adds to counters of its group with atomic operations, some of them in two steps.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 12, THREADS = 64, GROUPS = 8 };

struct task {
	int group, left; /* how many tasks it still has to spawn */
};

struct deque {
	atomic_flag lock;
	_Atomic int bottom, top; /* read without the lock, to see whether it is empty */
	struct task task[ROOM];
	char pad[64];
};

struct group {
	_Atomic long running, done, longest;
	char pad[64];
};

static struct deque deque[THREADS];
static struct group group[GROUPS];
static _Atomic long to_do;
static int nthreads;

static void deque_lock(struct deque *d)
{
	while (atomic_flag_test_and_set_explicit(&d->lock, memory_order_acquire))
		sched_yield();
}

static void deque_unlock(struct deque *d)
{
	atomic_flag_clear_explicit(&d->lock, memory_order_release);
}

static int is_empty(struct deque *d)
{
	return atomic_load(&d->top) >= atomic_load(&d->bottom);
}

static int push(struct deque *d, struct task t)
{
	int bottom, pushed;

	deque_lock(d);
	bottom = atomic_load(&d->bottom);
	pushed = bottom - atomic_load(&d->top) < ROOM;
	if (pushed) {
		d->task[bottom % ROOM] = t;
		atomic_store(&d->bottom, bottom + 1);
	}
	deque_unlock(d);
	return pushed;
}

static int take(struct deque *d, int own, struct task *t)
{
	int got = 0;

	if (is_empty(d))
		return 0;
	deque_lock(d);
	if (!is_empty(d)) {
		if (own) {
			int bottom = atomic_load(&d->bottom) - 1;

			atomic_store(&d->bottom, bottom);
			*t = d->task[bottom % ROOM];
		} else {
			*t = d->task[atomic_fetch_add(&d->top, 1) % ROOM];
		}
		got = 1;
	}
	deque_unlock(d);
	return got;
}

static void execute(struct deque *d, struct task t);

static void spawn(struct deque *d, struct task t)
{
	atomic_fetch_add(&group[t.group].running, 1);
	if (!push(d, t))
		execute(d, t);
}

static void execute(struct deque *d, struct task t)
{
	struct group *g = &group[t.group];
	long n = atomic_load(&g->running);

	if (n > atomic_load(&g->longest))
		atomic_store(&g->longest, n);
	for (int i = 0; i < 2 && t.left > 0; i++) {
		int half = i ? t.left - t.left / 2 : t.left / 2;

		if (half)
			spawn(d, (struct task){(t.group + 1) % GROUPS, half - 1});
	}
	atomic_fetch_add(&g->done, 1);
	atomic_fetch_sub(&g->running, 1);
	atomic_fetch_sub(&to_do, 1);
}

static void run_one(int own)
{
	struct task t;
	int victim = own;

	for (int i = 0; i < nthreads; i++, victim = (victim + 1) % nthreads)
		if (take(&deque[victim], victim == own, &t)) {
			execute(&deque[own], t);
			return;
		}
	sched_yield();
}

static void *work(void *arg)
{
	int own = (int)((struct deque *)arg - deque);

	while (atomic_load(&to_do) > 0)
		run_one(own);
	return NULL;
}

int main(int argc, char **argv)
{
	long tasks = 1000 * (argc > 2 ? atol(argv[2]) : 30), done = 0;
	pthread_t thread[THREADS];

	nthreads = argc > 1 ? atoi(argv[1]) : 4;
	if (nthreads < 1 || nthreads > THREADS || tasks < 1 || tasks > 1000000000) {
		fprintf(stderr, "usage: task_group [THREADS [THOUSANDS]], 64 threads at most\n");
		return 2;
	}
	atomic_store(&to_do, tasks);
	push(&deque[0], (struct task){0, (int)tasks - 1});
	atomic_store(&group[0].running, 1);
	for (int i = 0; i < nthreads; i++)
		pthread_create(&thread[i], NULL, work, &deque[i]);
	for (int i = 0; i < nthreads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < GROUPS; i++)
		done += atomic_load(&group[i].done);
	if (done != tasks) {
		printf("task_group: WRONG: %ld of %ld tasks\n", done, tasks);
		return 1;
	}
	printf("task_group: ok\n");
	return 0;
}
