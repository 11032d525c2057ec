/*
 * A child process that calls exit(), with its handlers, and one that forks again.
 *
 * silent prints: handler
 * silent prints: handler
 * silent prints: handler
 * silent prints: statuses 5 6
 * silent prints: handler
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK void bump(void)
{
	pthread_mutex_lock(&m);
	x++;
	pthread_mutex_unlock(&m);
}

static void on_exit_of_process(void)
{
	bump();
	printf("handler\n");
}

static int status_of(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

TWO_THREADS(bump(); window_hold(1), bump())

int main(void)
{
	int s5, s6;
	pid_t pid;

	atexit(on_exit_of_process);
	run_two(first, second);
	pid = fork();
	if (pid == 0) {
		bump();
		exit(5);
	}
	s5 = status_of(pid);
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			exit(1);
		exit(5 + status_of(pid));
	}
	s6 = status_of(pid);
	printf("statuses %d %d\n", s5, s6);
}
