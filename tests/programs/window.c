/* See window.h. This file is never built with the wrapper. */
#define _GNU_SOURCE
#include "window.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 256, WINDOWS = 256, PATIENCE = 20000 /* ms */ };

static int step_done[STEPS];
static int window_taken[WINDOWS], window_open[WINDOWS], window_left[WINDOWS];

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, flag, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

/* Waits for the flag. Returns 0 after ms milliseconds without it. */
static int wait_for(int *flag, int ms)
{
	long long end = now_ms() + ms, left = ms;
	int saved = errno;

	while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST) && left > 0) {
		struct timespec t = {left / 1000, left % 1000 * 1000000};

		syscall(SYS_futex, flag, FUTEX_WAIT, 0, &t, NULL, 0);
		left = end - now_ms();
	}
	errno = saved;
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void insist(int *flag, const char *what, int n)
{
	if (wait_for(flag, PATIENCE))
		return;
	fprintf(stderr, "window: waited in vain: %s %d\n", what, n);
	_exit(99);
}

void window_hold_for(int window, int milliseconds)
{
	if (__atomic_exchange_n(&window_taken[window], 1, __ATOMIC_SEQ_CST))
		return;
	set(&window_open[window]);
	if (milliseconds)
		wait_for(&window_left[window], milliseconds);
	else
		insist(&window_left[window], "for somebody to leave window", window);
}

void window_enter(int window)
{
	insist(&window_open[window], "for somebody to open window", window);
}

void window_leave(int window)
{
	set(&window_left[window]);
}

void reached(int step)
{
	set(&step_done[step]);
}

void await(int step)
{
	insist(&step_done[step], "for step", step);
}

int window_thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

void window_await_gone(int thread_id)
{
	long long end = now_ms() + PATIENCE;

	while (syscall(SYS_tgkill, getpid(), thread_id, 0) == 0 || errno != ESRCH) {
		struct timespec t = {0, 200000};

		if (now_ms() > end) {
			fprintf(stderr, "window: waited in vain: for thread %d to end\n",
				thread_id);
			_exit(99);
		}
		nanosleep(&t, NULL);
	}
}
