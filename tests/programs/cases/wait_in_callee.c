/*
 * A function that waits is no block by default, and neither is its caller, since that
 * waits too. In the buggy program the function only polls.
 *
 * buggy blame: reserve
 * buggy refuted: reserve
 * buggy variable: seats
 * buggy prints: seats 9
 * fixed prints: seats 9
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int seats = 10, confirmed;

BLOCK void wait_for_confirmation(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
	reached(1); /* no thread confirms before it waits */
	while (!confirmed)
		pthread_cond_wait(&cond, &m);
	pthread_mutex_unlock(&m);
#else
	window_hold(1);
#endif
}

BLOCK void reserve(void)
{
	pthread_mutex_lock(&m);
	int n = seats;
	pthread_mutex_unlock(&m);
	wait_for_confirmation();
	pthread_mutex_lock(&m);
	seats = n - 1;
	pthread_mutex_unlock(&m);
}

BLOCK void confirm(void)
{
	pthread_mutex_lock(&m);
	seats--;
	confirmed = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&m);
}

static void *first(void *arg)
{
	reserve();
	return arg;
}

static void *second(void *arg)
{
#ifdef FIXED
	await(1);
#else
	window_enter(1);
#endif
	confirm();
	window_leave(1);
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("seats %d\n", seats);
}
