/*
 * A program that calls abort() in the middle of a block, while other threads are alive.
 *
 * silent exits: 134
 * silent prints: before
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK void give_up(void)
{
	pthread_mutex_lock(&m);
	x++;
	abort();
}

static void *first(void *arg)
{
	reached(1);
	for (;;)
		pause();
	return arg;
}

static void *second(void *arg)
{
	await(1);
	give_up();
	return arg;
}

int main(void)
{
	struct rlimit no_core = {0, 0};

	setrlimit(RLIMIT_CORE, &no_core);
	printf("before\n");
	fflush(stdout);
	run_two(first, second);
}
