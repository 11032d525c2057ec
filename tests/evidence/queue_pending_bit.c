/*
 * Deferred work in a kernel driver has a pending bit: the interrupt stores the new state and queues
 * the handler unless it is pending already. The handler reads the state under the lock and clears
 * the bit in a second critical section, when it has finished. A state that is stored in between is
 * never handled: the interrupt found the bit still set. Driver changelogs have many corrections of
 * this.
 *
 * Meant to be atomic: reading the state and clearing the bit. The twin clears the bit in the
 * critical section that reads the state.
 */
// expect: function=handle_work variable=state,pending class=work-queue where=inlined
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static int state, queued, handled;
static bool pending;

static void raise_interrupt(int new_state)
{
	pthread_mutex_lock(&device_lock);
	state = new_state;
	if (!pending) {
		pending = true;
		queued++;
	}
	pthread_mutex_unlock(&device_lock);
}

/* Returns whether there was work in the queue. */
static bool take_work(void)
{
	pthread_mutex_lock(&device_lock);
	bool some = queued > 0;
	if (some)
		queued--;
	pthread_mutex_unlock(&device_lock);
	return some;
}

static int handle_work(void)
{
	pthread_mutex_lock(&device_lock);
	int seen = state;
#ifndef FIXED
	pthread_mutex_unlock(&device_lock);
	pass_window();
	pthread_mutex_lock(&device_lock);
#endif
	pending = false;
	pthread_mutex_unlock(&device_lock);
	return seen;
}

static void *run_device(void *arg)
{
	(void)arg;
	raise_interrupt(1);
	usleep(5000); /* The device is usually slower than the handler. */
	raise_interrupt(2);
	return NULL;
}

static void *run_queue(void *arg)
{
	(void)arg;
	/* Gives up after a while, as no further interrupt may come. */
	for (int polls = 0; polls < 60; polls++) {
		if (take_work())
			handled = handle_work();
		if (handled == 2)
			break;
		usleep(500);
	}
	return NULL;
}

int main(void)
{
	pthread_t device, queue;

	pthread_create(&queue, NULL, run_queue, NULL);
	pthread_create(&device, NULL, run_device, NULL);
	pthread_join(queue, NULL);
	pthread_join(device, NULL);
	return print_outcome(handled == 2);
}
