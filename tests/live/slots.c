/*
 * slots WHAT: after a thread has ended, the check gives its slot to another thread, for which the
 * slot must be as good as new. The script `slots` has the expected findings of each case.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Turns that the check does not see. */
#define UNSEEN __attribute__((no_sanitize("thread"), noinline))
static volatile int turn, gone;

UNSEEN static void wait_for(int n)
{
	while (turn < n)
		sched_yield();
}

UNSEEN static void set(int n)
{
	turn = n;
}

UNSEEN static void goes(void)
{
	__sync_fetch_and_add(&gone, 1);
}

/* Waits a little longer, until the thread has ended. */
UNSEEN static void wait_gone(int n)
{
	while (gone < n)
		sched_yield();
	usleep(50000);
}

static pthread_t start(void *(*f)(void *), size_t arg, int detached)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr,
				    detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
	if (pthread_create(&t, &attr, f, (void *)arg))
		exit(2);
	pthread_attr_destroy(&attr);
	return t;
}

static void *nothing(void *arg)
{
	return arg;
}

static void after_each_other(void *(*f)(void *), int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(start(f, (size_t)i, 0), NULL);
}

static volatile long v, w;

/* --- clock: two threads take turns, and leave a high clock to the thread that is cut --- */

static long ball;

static __attribute__((noinline)) void hit(int i)
{
	ball += i;
}

static void *plays(void *arg)
{
	for (int i = 0; i < 20; i++) {
		wait_for(2 * i + !!arg);
		hit(i);
		set(2 * i + !!arg + 1);
	}
	goes();
	return NULL;
}

static __attribute__((noinline)) long is_cut(void)
{
	v = 1;
	set(101);
	wait_for(102);
	return w;
}

static void *calls_cut(void *arg)
{
	wait_for(100);
	is_cut();
	goes();
	return arg;
}

static __attribute__((noinline)) void cuts(void)
{
	long x = v;

	w = x + 1;
}

static void *calls_cuts(void *arg)
{
	wait_for(101);
	cuts();
	set(102);
	goes();
	return arg;
}

static void clocks(void)
{
	start(calls_cuts, 0, 1);
	start(plays, 0, 1);
	start(plays, 1, 1);
	wait_gone(2);
	start(calls_cut, 0, 1);
	set(100);
	wait_gone(4);
}

/* --- forgotten: many at once, then some in sequence, then two blocks that cut each other --- */

enum { MANY = 60 };
static pthread_barrier_t all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum, own[MANY];

static __attribute__((noinline)) void adds(size_t i)
{
	own[i]++;
	pthread_mutex_lock(&lock);
	sum++;
	pthread_mutex_unlock(&lock);
}

static void *one_of_many(void *arg)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < 20; i++)
		adds((size_t)arg);
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *one(void *arg)
{
	adds((size_t)arg % MANY);
	return NULL;
}

static __attribute__((noinline)) long writes_v(void)
{
	wait_for(1);
	v = 1;
	set(2);
	wait_for(3);
	return w;
}

static __attribute__((noinline)) long writes_w(void)
{
	w = 1;
	set(1);
	wait_for(2);
	long x = v;
	set(3);
	return x;
}

static void *calls_writes(void *arg)
{
	return (arg ? writes_v() : writes_w()) > 100 ? arg : NULL;
}

static void forgotten(void)
{
	pthread_t t[MANY];

	pthread_barrier_init(&all, NULL, MANY);
	for (size_t i = 0; i < MANY; i++)
		t[i] = start(one_of_many, i, 0);
	for (size_t i = 0; i < MANY; i++)
		pthread_join(t[i], NULL);
	after_each_other(one, 1100);
	for (size_t i = 0; i < 2; i++)
		t[i] = start(calls_writes, i, 0);
	for (size_t i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* --- forks: while others end blocks, none of which can be cut --- */

enum { FORKS = 60, WORKERS = 2, ROUNDS = 20000 };
static long x[WORKERS][8], y[WORKERS][8];
static volatile int stop;

static __attribute__((noinline)) void writes_once(size_t k)
{
	__atomic_store_n(&x[k][0], 1, __ATOMIC_RELAXED);
	for (volatile int i = 0; i < ROUNDS; i++)
		;
}

static void *works(void *arg)
{
	while (!stop)
		writes_once((size_t)arg);
	return NULL;
}

static __attribute__((noinline)) long reads_once(size_t k)
{
	return __atomic_load_n(&y[k][0], __ATOMIC_RELAXED);
}

static void *reads(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		reads_once((size_t)arg);
	return NULL;
}

static void child(void)
{
	pthread_t t[WORKERS];

	for (size_t i = 0; i < WORKERS; i++)
		t[i] = start(reads, i, 0);
	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < WORKERS; k++)
			__atomic_store_n(&y[k][0], i, __ATOMIC_RELAXED);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	exit(0);
}

static void forks(void)
{
	pthread_t t[WORKERS];
	int status = 0;
	long s = 0;

	for (size_t i = 0; i < WORKERS; i++)
		t[i] = start(works, i, 0);
	for (int n = 0; n < FORKS && !status; n++) {
		pid_t pid;

		for (int i = 0; i < 20; i++)
			for (int k = 0; k < WORKERS; k++)
				s += __atomic_load_n(&x[k][0], __ATOMIC_RELAXED);
		pid = fork();
		if (!pid)
			child();
		if (waitpid(pid, &status, 0) != pid)
			exit(2);
	}
	stop = 1;
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	if (status || s < 0)
		exit(3);
}

/* --- late: a block is cut, some threads come and go, and only then does it end --- */

static __attribute__((noinline)) long is_cut_for_long(void)
{
	long r;

	v = 1;
	set(1);
	wait_for(2);
	r = w;
	set(3);
	wait_for(4);
	return r + v;
}

static void *calls_cut_for_long(void *arg)
{
	return is_cut_for_long() ? arg : NULL;
}

static void *only_cuts(void *arg)
{
	cuts();
	return arg;
}

static void late(int before)
{
	pthread_t t = start(calls_cut_for_long, 0, 0);

	wait_for(1);
	after_each_other(nothing, before);
	after_each_other(only_cuts, 1);
	after_each_other(nothing, 1);
	set(2);
	wait_for(3);
	set(4);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "clocks"))
		clocks();
	else if (!strcmp(what, "forgotten"))
		forgotten();
	else if (!strcmp(what, "forks"))
		forks();
	else if (!strcmp(what, "late"))
		late(argc > 2 ? atoi(argv[2]) : 0);
	else
		return 2;
	puts("done");
	return 0;
}
