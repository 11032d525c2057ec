/*
 * _exit() in a block: no code runs after it, and the exit status is as given.
 *
 * silent exits: 9
 * silent prints: before
 */
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK void leave(void)
{
	pthread_mutex_lock(&m);
	x++;
	pthread_mutex_unlock(&m);
	_exit(9);
}

static void *run(void *arg)
{
	leave();
	return arg;
}

int main(void)
{
	printf("before\n");
	fflush(stdout);
	run_two(run, run);
}
