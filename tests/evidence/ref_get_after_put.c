/*
 * The kernel's most frequent error with reference counts, described in its documentation of kref: a
 * thread looks an object up in a list under the list's lock, releases the lock, and only then takes
 * its reference. Another thread can remove the object and drop the last reference in between; the
 * first thread then uses an object that is already back in the pool. Lookup and reference are meant
 * to be one step.
 *
 * The twin takes the reference while it holds the list's lock.
 */
// expect: function=read_device variable=device,refs,registered class=refcount where=thread
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

struct device {
	pthread_mutex_t lock;
	int refs;
	int in_pool; /* set when the last reference is dropped */
	int value;
};

static struct device disk = {PTHREAD_MUTEX_INITIALIZER, 1, 0, 42};
static struct device *registered = &disk;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_device(struct device *device)
{
	pthread_mutex_lock(&device->lock);
	if (--device->refs == 0)
		device->in_pool = 1;
	pthread_mutex_unlock(&device->lock);
}

static void *read_device(void *arg)
{
	int *was_in_pool = arg;

	pthread_mutex_lock(&list_lock);
	struct device *device = registered;
#ifndef FIXED
	pthread_mutex_unlock(&list_lock);
	if (!device)
		return NULL;
	pass_window();
#endif
	if (device) {
		pthread_mutex_lock(&device->lock);
		device->refs++;
		*was_in_pool = device->in_pool;
		pthread_mutex_unlock(&device->lock);
	}
#ifdef FIXED
	pthread_mutex_unlock(&list_lock);
	pass_window();
#endif
	if (device)
		put_device(device);
	return NULL;
}

static void *unplug_device(void *arg)
{
	(void)arg;
	usleep(5000); /* A device is usually unplugged later. */
	pthread_mutex_lock(&list_lock);
	struct device *device = registered;
	registered = NULL;
	pthread_mutex_unlock(&list_lock);
	put_device(device);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int was_in_pool = 0;
	pthread_create(&threads[0], NULL, read_device, &was_in_pool);
	pthread_create(&threads[1], NULL, unplug_device, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(!was_in_pool);
}
