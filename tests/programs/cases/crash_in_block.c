/*
 * A program that crashes in the block that was cut: the findings so far are reported.
 *
 * buggy blame: deposit
 * buggy refuted: deposit
 * buggy variable: balance
 * buggy rests: data
 * buggy prints: before
 * buggy exits: 139
 * fixed prints: before
 * fixed exits: 139
 * forgets: doublechecker
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

BLOCK void deposit(int *volatile nowhere)
{
	int seen;

	pthread_mutex_lock(&m);
	seen = balance;
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(0);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	balance = seen + 1;
	pthread_mutex_unlock(&m);
	*nowhere = 1;
}

static void *first(void *arg)
{
	deposit(NULL);
	return arg;
}

static void *second(void *arg)
{
	window_enter(0);
	pthread_mutex_lock(&m);
	balance = 10;
	pthread_mutex_unlock(&m);
	window_leave(0);
	for (;;)
		pause();
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
