/*
 * Timed waits that time out, by both functions, and a timed wait that is woken.
 *
 * silent prints: timed out 2 times, woken
 */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, timeouts;

static struct timespec in_ms(clockid_t clock, int ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

BLOCK void wait_until_ready(void)
{
	struct timespec t;

	pthread_mutex_lock(&m);
	t = in_ms(CLOCK_REALTIME, 2);
	while (!ready && pthread_cond_timedwait(&cond, &m, &t) == 0)
		;
	timeouts++;
	t = in_ms(CLOCK_MONOTONIC, 2);
	while (!ready && pthread_cond_clockwait(&cond, &m, CLOCK_MONOTONIC, &t) == 0)
		;
	timeouts++;
	reached(1);
	t = in_ms(CLOCK_REALTIME, 20000);
	while (!ready && pthread_cond_timedwait(&cond, &m, &t) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&m);
}

BLOCK void wake(void)
{
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&m);
}

static void *waiter(void *arg)
{
	wait_until_ready();
	return arg;
}

static void *waker(void *arg)
{
	await(1);
	wake();
	return arg;
}

int main(void)
{
	run_two(waiter, waker);
	printf("timed out %d times, %s\n", timeouts, ready ? "woken" : "not woken");
}
