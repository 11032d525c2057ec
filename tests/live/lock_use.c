/*
 * Mutexes that are used wrongly, and rightly, in ways that look alike. argv[1] says which. What the
 * threads do is ordered by joins.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static mtx_t plain;
static int balance;

static void *unlock(void *m)
{
	pthread_mutex_unlock(m); /* here: unlock */
	return NULL;
}

static void *lock(void *m)
{
	balance++;
	pthread_mutex_lock(m); /* here: lock */
	return NULL;
}

static void *lock_and_cancel(void *m)
{
	pthread_mutex_lock(m);
	pthread_exit(NULL);
}

static int unlock_plain(void *unused)
{
	(void)unused;
	return mtx_unlock(&plain); /* here: mtx_unlock */
}

static void *use(void *m)
{
	pthread_mutex_lock(m);
	balance++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(m);
	return NULL;
}

static void run(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fn, arg);
	pthread_join(thread, NULL);
}

static void take(void)
{
	pthread_mutex_lock(&account);
}

static void give(void)
{
	pthread_mutex_unlock(&account);
}

static pthread_mutex_t *make(int type, int robust)
{
	static pthread_mutex_t m;
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutex_init(&m, &attr);
	return &m;
}

/* Everything that is right. */
static void use_well(void)
{
	pthread_mutex_t *m = make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	pthread_mutex_t *gone = malloc(sizeof *gone);
	int before;

	/* The unlock is refused, and the program knows. */
	pthread_mutex_lock(m);
	run(unlock, m);
	pthread_mutex_unlock(m);
	m = make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	run(lock_and_cancel, m);
	if (pthread_mutex_lock(m) == EOWNERDEAD)
		pthread_mutex_consistent(m);
	pthread_mutex_unlock(m);
	m = make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	pthread_mutex_lock(m);
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	pthread_mutex_unlock(m);
	pthread_mutex_init(gone, NULL);
	run(use, gone);
	free(gone);
	pthread_mutex_lock(&account);
	before = balance;
	pthread_mutex_unlock(&account);
	run(use, &account);
	pthread_mutex_lock(&account);
	while (balance == before)
		pthread_cond_wait(&changed, &account);
	pthread_mutex_unlock(&account);
	/* The child unlocks what its parent has locked. */
	pthread_atfork(take, give, give);
	if (!fork()) {
		run(use, &account);
		exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	thrd_t thread;

	if (!strcmp(what, "other")) {
		pthread_mutex_lock(&account);
		run(unlock, &account);
	} else if (!strcmp(what, "none")) {
		run(unlock, &account);
		run(unlock, &account);
	} else if (!strcmp(what, "c11")) {
		mtx_init(&plain, mtx_plain);
		mtx_lock(&plain);
		thrd_create(&thread, unlock_plain, NULL);
		thrd_join(thread, NULL);
	} else if (!strcmp(what, "end")) {
		run(lock, &account);
	} else if (!strcmp(what, "exit")) {
		run(use, &account);
		pthread_mutex_lock(&account); /* here: exit */
	} else {
		use_well();
	}
	puts("done");
	return 0;
}
