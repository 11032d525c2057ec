/*
 * A program that a signal ends: the same status as without the check, and a trace
 * that can be read.
 *
 * silent exits: 143
 */
#include <signal.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK void bump(void)
{
	pthread_mutex_lock(&m);
	x++;
	pthread_mutex_unlock(&m);
}

TWO_THREADS(bump(); window_hold(1), bump())

int main(void)
{
	run_two(first, second);
	raise(SIGTERM);
}
