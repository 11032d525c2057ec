/*
 * Code that runs before main() and code that runs after it, both with threads.
 *
 * silent prints: constructor 2
 * silent prints: main 4
 * silent prints: handler 6
 * silent prints: destructor 8
 */
#include <stdlib.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK void bump(void)
{
	pthread_mutex_lock(&m);
	x++;
	pthread_mutex_unlock(&m);
}

static void *run(void *arg)
{
	bump();
	return arg;
}

static void two_more(const char *where)
{
	run_two(run, run);
	printf("%s %d\n", where, x);
}

__attribute__((constructor)) static void constructor(void)
{
	two_more("constructor");
}

__attribute__((destructor)) static void destructor(void)
{
	two_more("destructor");
}

static void handler(void)
{
	two_more("handler");
}

int main(void)
{
	atexit(handler);
	two_more("main");
}
