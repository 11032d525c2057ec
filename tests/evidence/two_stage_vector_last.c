/*
 * Java's Vector, from the first studies of atomicity: access to the last element and iterations ask
 * for the size and then for the element at that index. Both calls are locked, but an element that
 * another thread removes in between makes the index invalid. The size and the element are meant to
 * belong together.
 *
 * The twin has a function that takes both under the lock.
 */
// expect: function=watch variable=count,values class=two-stage where=loop
#include <pthread.h>
#include "prove.h"

#define MOST   16
#define ROUNDS 20

static struct {
	pthread_mutex_t lock;
	int count;
	int values[MOST];
} vector = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void vector_push(int value)
{
	pthread_mutex_lock(&vector.lock);
	if (vector.count < MOST)
		vector.values[vector.count++] = value;
	pthread_mutex_unlock(&vector.lock);
}

static void vector_pop(void)
{
	pthread_mutex_lock(&vector.lock);
	if (vector.count > 0)
		vector.values[--vector.count] = -1;
	pthread_mutex_unlock(&vector.lock);
}

#ifdef FIXED
static int vector_last(void)
{
	pthread_mutex_lock(&vector.lock);
	int value = vector.count > 0 ? vector.values[vector.count - 1] : 0;
	pthread_mutex_unlock(&vector.lock);
	return value;
}
#else
static int vector_size(void)
{
	pthread_mutex_lock(&vector.lock);
	int count = vector.count;
	pthread_mutex_unlock(&vector.lock);
	return count;
}

static int vector_at(int index)
{
	pthread_mutex_lock(&vector.lock);
	int value = vector.values[index];
	pthread_mutex_unlock(&vector.lock);
	return value;
}
#endif

static void *watch(void *arg)
{
	int *removed = arg;
	for (int i = 0; i < ROUNDS; i++) {
#ifdef FIXED
		int last = vector_last();
#else
		int size = vector_size();
		pass_window();
		int last = size > 0 ? vector_at(size - 1) : 0;
#endif
		*removed += last == -1;
	}
	return NULL;
}

static void *change(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		vector_push(i);
		pass_window();
		vector_pop();
		pass_window();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int removed = 0;
	vector_push(100);
	pthread_create(&threads[0], NULL, watch, &removed);
	pthread_create(&threads[1], NULL, change, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(removed == 0);
}
