/*
 * A forked child in which two threads lose an update in add_one(). Prints the child's exit status:
 * 66 if the child is checked, or predicted from.
 *
 * With an argument, the child first joins a thread of its parent, which the C library allows.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static __attribute__((noinline)) void add_one(void)
{
	int seen;

	pthread_mutex_lock(&m);
	seen = sum;
	pthread_mutex_unlock(&m);
	usleep(20000);
	pthread_mutex_lock(&m);
	sum = seen + 1;
	pthread_mutex_unlock(&m);
}

static void *work(void *arg)
{
	for (int i = 0; i < 3; i++)
		add_one();
	return arg;
}

static void run_child(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	work(NULL);
	pthread_join(t, NULL);
}

static void *sleep_long(void *arg)
{
	sleep(1000);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t sleeper;
	pid_t child;
	int status;

	(void)argv;
	if (argc > 1)
		pthread_create(&sleeper, NULL, sleep_long, NULL);
	child = fork();
	if (!child) {
		if (argc > 1)
			pthread_join(sleeper, NULL);
		run_child();
		return 0;
	}
	waitpid(child, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
