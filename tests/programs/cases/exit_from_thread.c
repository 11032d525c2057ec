/*
 * A thread calls exit() in a block while others work; the handlers run in that thread.
 *
 * silent exits: 7
 * silent prints: handler 2
 * silent prints: destructor
 */
#include <stdlib.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK int bump(void)
{
	pthread_mutex_lock(&m);
	int v = ++x;
	pthread_mutex_unlock(&m);
	return v;
}

static void handler(void)
{
	printf("handler %d\n", bump());
}

__attribute__((destructor)) static void destructor(void)
{
	bump();
	printf("destructor\n");
}

BLOCK void leave(void)
{
	bump();
	exit(7);
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *leaver(void *arg)
{
	leave();
	return arg;
}

int main(void)
{
	atexit(handler);
	run_two(idle, leaver);
}
