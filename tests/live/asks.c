/*
 * asks: calls some functions as blocks, in main(), in a thread, and in a forked child that does the
 * same.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

FUNCTION void innermost(long v)
{
	pthread_mutex_lock(&lock);
	sum += v;
	pthread_mutex_unlock(&lock);
}

FUNCTION void twice(long v)
{
	innermost(v);
	innermost(v);
}

FUNCTION void *work(void *arg)
{
	twice(*(long *)arg);
	return NULL;
}

FUNCTION void run(long v)
{
	pthread_t t;

	pthread_create(&t, NULL, work, &v);
	pthread_join(t, NULL);
	twice(v);
}

int main(void)
{
	pid_t child;

	run(1);
	child = fork();
	run(2);
	if (child) {
		waitpid(child, NULL, 0);
		printf("%ld\n", sum);
	}
	return 0;
}
