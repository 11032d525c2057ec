/*
 * A program with threads forks. The child has violations of its own; they are
 * not the parent's.
 *
 * live: no, its children are checked as well
 * silent prints: child 3, parent 2
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int x;
static int y;

BLOCK void bump_badly(void)
{
	int v = atomic_load(&x);

	window_hold(1);
	atomic_store(&x, v + 1);
}

BLOCK void bump(void)
{
	pthread_mutex_lock(&m);
	y++;
	pthread_mutex_unlock(&m);
}

TWO_THREADS(bump_badly(), bump_badly())

static void *bystander(void *arg)
{
	bump();
	reached(1);
	await(2);
	bump();
	return arg;
}

BLOCK int in_child(void)
{
	run_two(first, second);
	return x + 2;
}

int main(void)
{
	pthread_t t;
	int status;

	pthread_create(&t, NULL, bystander, NULL);
	await(1);
	pid_t pid = fork();
	if (pid == 0)
		_exit(in_child());
	waitpid(pid, &status, 0);
	reached(2);
	pthread_join(t, NULL);
	printf("child %d, parent %d\n", WEXITSTATUS(status), y);
}
