/*
 * lots [N]...: loses an update in block number N, for each N from 1 to 8; always, whatever the
 * machine does. "exit": ends with status 3; "abort": aborts; "term": is ended by SIGTERM; "sleep":
 * waits for ten minutes.
 */
#include "window.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOSER(N)                                                                                   \
	static int value##N;                                                                       \
	BLOCK void lose##N(void)                                                                   \
	{                                                                                          \
		int v = value##N;                                                                  \
		window_hold(N);                                                                    \
		value##N = v + 1;                                                                  \
	}                                                                                          \
	static void *one##N(void *arg)                                                             \
	{                                                                                          \
		lose##N();                                                                         \
		return arg;                                                                        \
	}                                                                                          \
	static void *other##N(void *arg)                                                           \
	{                                                                                          \
		window_enter(N);                                                                   \
		lose##N();                                                                         \
		window_leave(N);                                                                   \
		return arg;                                                                        \
	}

LOSER(1)
LOSER(2)
LOSER(3)
LOSER(4)
LOSER(5)
LOSER(6)
LOSER(7)
LOSER(8)

static void lose(int n)
{
	static void *(*const threads[][2])(void *) = {
		{one1, other1}, {one2, other2}, {one3, other3}, {one4, other4},
		{one5, other5}, {one6, other6}, {one7, other7}, {one8, other8},
	};

	run_two(threads[n - 1][0], threads[n - 1][1]);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "exit")) {
			printf("lots: asked to fail\n");
			return 3;
		}
		if (!strcmp(argv[i], "abort"))
			abort();
		if (!strcmp(argv[i], "term"))
			raise(SIGTERM);
		if (!strcmp(argv[i], "sleep"))
			sleep(600);
		else
			lose(atoi(argv[i]));
	}
	return 0;
}
