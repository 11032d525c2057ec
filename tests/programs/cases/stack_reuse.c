/*
 * The stack of an ended thread is new memory for the next thread that uses it. Otherwise
 * long_block() would be cut: it writes x, which early() reads; early() uses the same
 * stack as late(); late() writes y, which long_block() reads.
 *
 * silent prints: same stack
 */
#include <stdatomic.h>
#include <stdint.h>

#include "window.h"

static atomic_int x, y;
static uintptr_t address[2];
static atomic_int early_id;

static void touch(volatile int *local, int i)
{
	address[i] = (uintptr_t)local;
	for (int k = 0; k < 16; k++)
		local[k] = k;
}

BLOCK void early(void)
{
	volatile int local[16];

	atomic_load(&x);
	touch(local, 0);
}

BLOCK void late(void)
{
	volatile int local[16];

	touch(local, 1);
	atomic_store(&y, 1);
}

BLOCK void long_block(void)
{
	atomic_store(&x, 1);
	window_hold(1);
	atomic_load(&y);
}

static void *run_long(void *arg)
{
	long_block();
	return arg;
}

static void *run_early(void *arg)
{
	early_id = window_thread_id();
	early();
	reached(1);
	return arg;
}

static void *run_late(void *arg)
{
	late();
	window_leave(1);
	return arg;
}

int main(void)
{
	pthread_t t, u;

	pthread_create(&t, NULL, run_long, NULL);
	window_enter(1);
	pthread_create(&u, NULL, run_early, NULL);
	pthread_detach(u); /* not joined, so that nothing else orders the two */
	await(1);
	window_await_gone(early_id);
	pthread_create(&u, NULL, run_late, NULL);
	pthread_join(u, NULL);
	pthread_join(t, NULL);
	printf("%s stack\n", address[0] >> 16 == address[1] >> 16 ? "same" : "another");
}
