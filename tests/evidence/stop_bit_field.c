/*
 * Two bit-fields in one word, each protected by its own lock: the kernel's documentation on data
 * structures and several fixes in its drivers warn of it. A write of one bit reads and writes the
 * whole word, so the thread that marks the buffer as dirty can undo the request to stop that
 * another thread makes at the same time.
 *
 * The twin protects both bits with the same lock.
 */
// expect: function=mark_dirty,request_stop variable=device,dirty,stop class=stop-flag where=inlined
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

#define WRITES 10

struct device {
	pthread_mutex_t data_lock, state_lock;
	unsigned dirty : 1, stop : 1, generation : 8;
	int length;
};

static struct device device = {.data_lock = PTHREAD_MUTEX_INITIALIZER,
			       .state_lock = PTHREAD_MUTEX_INITIALIZER};

static void mark_dirty(struct device *d)
{
	pthread_mutex_lock(&d->data_lock);
	d->length++;
#if defined PROVE && !defined FIXED
	struct device copy = *d; /* as the processor does it */
	pass_window();
	copy.dirty = 1;
	d->dirty = copy.dirty;
	d->stop = copy.stop;
#else
	d->dirty = 1;
#endif
	pthread_mutex_unlock(&d->data_lock);
}

static void request_stop(struct device *d)
{
#ifdef FIXED
	pthread_mutex_lock(&d->data_lock);
	d->stop = 1;
	pthread_mutex_unlock(&d->data_lock);
#else
	pthread_mutex_lock(&d->state_lock);
	d->stop = 1;
	pthread_mutex_unlock(&d->state_lock);
#endif
}

static void *writer(void *arg)
{
	for (int i = 0; i < WRITES; i++)
		mark_dirty(arg);
	return NULL;
}

static void *controller(void *arg)
{
	usleep(5000); /* Some writes usually come first. */
	request_stop(arg);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, writer, &device);
	pthread_create(&threads[1], NULL, controller, &device);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(device.stop && device.dirty);
}
