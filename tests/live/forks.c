/*
 * A parent that forks workers and prints their status. In each worker a thread loses an update. The
 * workers end by exit(0), _exit(0) and exit(9).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static int get_balance(void)
{
	int v;

	pthread_mutex_lock(&m);
	v = balance;
	pthread_mutex_unlock(&m);
	return v;
}

static void set_balance(int v)
{
	pthread_mutex_lock(&m);
	balance = v;
	pthread_mutex_unlock(&m);
}

BLOCK void deposit(void)
{
	int v = get_balance();

	window_hold_for(1, 0);
	set_balance(v + 1);
}

static void *first(void *arg)
{
	deposit();
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	set_balance(5);
	window_leave(1);
	return arg;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		int status = -1;
		pid_t pid = fork();

		if (!pid) {
			run_two(first, second);
			if (i == 1)
				_exit(0);
			exit(i ? 9 : 0);
		}
		waitpid(pid, &status, 0);
		printf("worker %d: %d\n", i, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
		fflush(stdout);
	}
	return 0;
}
