/*
 * Signals that arrive while a block is open, sent by the thread itself and by another
 * thread: the block continues after the handler, and is still blamed.
 *
 * buggy blame: work
 * buggy refuted: work
 * buggy variable: x
 * buggy step: r read
 * buggy step: w write
 * buggy prints: 1 after 2 signals
 * fixed prints: 2 after 2 signals
 */
#include <signal.h>
#include <stdatomic.h>

#include "window.h"

static atomic_int x;
static atomic_int signals;
static pthread_t worker;

static void on_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&signals, 1);
	if (atomic_load(&signals) == 2)
		reached(1);
}

BLOCK void work(void)
{
#ifdef FIXED
	atomic_fetch_add(&x, 1);
	raise(SIGUSR1);
	window_hold_for(1, 0);
	await(1);
#else
	int v = atomic_load(&x); /* step: read */

	raise(SIGUSR1);
	window_hold(1);
	await(1);
	atomic_store(&x, v + 1); /* step: write */
#endif
}

static void *first(void *arg)
{
	work();
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	pthread_kill(worker, SIGUSR1);
	atomic_fetch_add(&x, 1);
	window_leave(1);
	return arg;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t other;

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&worker, NULL, first, NULL);
	pthread_create(&other, NULL, second, NULL);
	pthread_join(worker, NULL);
	pthread_join(other, NULL);
	printf("%d after %d signals\n", atomic_load(&x), atomic_load(&signals));
}
