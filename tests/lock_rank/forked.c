/*
 * A forked child whose two threads lose an update in add_one(). Prints the child's exit status: 66
 * if the child is checked, or predicted from.
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
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		run_child();
		return 0;
	}
	waitpid(child, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
