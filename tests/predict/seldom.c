/*
 * A bug that no ordinary run shows: the second thread has so much to do before its deposit that the
 * first has long finished. Each thread reads and writes the balance under its lock, and every
 * ordinary run is serial; with -DFIXED, every possible run is.
 *
 * The argument says how the program ends, or what else it does.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance;
static long rounds = 1;
static long *wide;
static volatile int busy; /* the second thread never ends */

static __attribute__((noinline)) long get(void)
{
	long b;

	pthread_mutex_lock(&lock);
	b = balance;
	pthread_mutex_unlock(&lock);
	return b;
}

static __attribute__((noinline)) void set(long b)
{
	pthread_mutex_lock(&lock);
	balance = b;
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void deposit(long n)
{
#ifdef FIXED
	pthread_mutex_lock(&lock);
	balance += n;
	pthread_mutex_unlock(&lock);
	(void)get;
	(void)set;
#else
	set(get() + n);
#endif
}

static void *customer(void *late)
{
	static const struct timespec while_others_are_done = {0, 10000000};

	if (late)
		nanosleep(&while_others_are_done, NULL);
	for (long i = 0; i < rounds; i++)
		deposit(1);
	for (long i = 0; late && wide && i < 1 << 20; i++)
		wide[i]++;
	while (late && busy)
		get();
	return NULL;
}

static void work(void)
{
	pthread_t t[2];

	for (size_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, customer, i ? &t : NULL);
	for (size_t i = 0; i < (busy ? 1 : 2); i++)
		pthread_join(t[i], NULL);
	while (busy && get() < 2)
		;
}

/* A child process with its own threads, while its parent has a thread that the child does not have.
 */
static void *forks(void *arg)
{
	pid_t child = fork();
	int status = 0;

	(void)arg;
	if (!child) {
		work();
		exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		puts("the child was killed");
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "exit";

	if (!strcmp(how, "loop"))
		rounds = 200000;
	if (!strcmp(how, "wide"))
		wide = calloc(1 << 20, sizeof *wide);
	if (!strcmp(how, "fork")) {
		pthread_t t;

		pthread_create(&t, NULL, forks, NULL);
		pthread_join(t, NULL);
		return 0;
	}
	if (!strcmp(how, "alone"))
		return 0;
	if (!strcmp(how, "closes first"))
		closefrom(3);
	busy = !strcmp(how, "busy");
	work();
	printf("%ld\n", balance);
	fflush(stdout);
	if (!strcmp(how, "killed"))
		raise(SIGKILL);
	if (!strcmp(how, "crash"))
		*(volatile char *)16 = 0;
	if (!strcmp(how, "closes"))
		closefrom(3);
	if (!strcmp(how, "executes"))
		execlp("true", "true", (char *)NULL);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	return !strcmp(how, "fails") ? 7 : 0;
}
