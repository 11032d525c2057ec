/*
 * Apache's module for a cache in memory (a report that many papers cite). A cached object's
 * reference count was decremented atomically and then read again to see whether it is zero. Two
 * threads that drop the last two references can both read zero, and both free the object. Decrement
 * and test are meant to be one step.
 *
 * The twin tests the value that the decrement returned.
 */
// expect: function=decrement_refcount variable=refcount class=refcount where=inlined
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "prove.h"

struct object {
	atomic_int refcount;
	int length;
	char body[32];
};

static struct object *cached;
static atomic_int cleanups;

static void cleanup_object(struct object *obj)
{
	obj->length = 0;
	atomic_fetch_add(&cleanups, 1); /* main() frees it, so that this can be counted */
}

static void decrement_refcount(struct object *obj)
{
#ifdef FIXED
	if (atomic_fetch_sub(&obj->refcount, 1) == 1)
		cleanup_object(obj);
#else
	atomic_fetch_sub(&obj->refcount, 1);
	pass_window();
	if (atomic_load(&obj->refcount) == 0)
		cleanup_object(obj);
#endif
}

static void *handle_request(void *arg)
{
	struct object *obj = cached;
	int *sum = arg;
	for (int i = 0; i < obj->length; i++)
		*sum += obj->body[i];
#ifdef PROVE
	pass_window();
#endif
	decrement_refcount(obj);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int sums[2] = {0, 0};
	cached = calloc(1, sizeof *cached);
	cached->length = sizeof cached->body;
	atomic_store(&cached->refcount, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, handle_request, &sums[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(cached);
	return print_outcome(cleanups == 1);
}
