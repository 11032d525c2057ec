/*
 * Correct but noisy: double-checked locking as it is right since C11. The pointer is loaded with
 * acquire; if it is null, the lock is taken, the pointer is checked again, and the object is made
 * and stored with release. Another thread can make the object between the two checks, and the
 * second check is there for that.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "prove.h"

enum { THREADS = 3, USES = 10 };

struct settings {
	int volume;
	int language;
};

static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings *_Atomic instance;
static atomic_int made;
static int sums[THREADS];

static struct settings *load_settings(void)
{
	struct settings *s = malloc(sizeof *s);

	if (!s)
		abort();
	s->volume = 7;
	s->language = 3;
	atomic_fetch_add(&made, 1);
	return s;
}

static struct settings *get_settings(void)
{
	struct settings *s = atomic_load_explicit(&instance, memory_order_acquire);

	if (s)
		return s;
	pthread_mutex_lock(&make_lock);
	s = atomic_load_explicit(&instance, memory_order_relaxed);
	if (!s) {
		s = load_settings();
		atomic_store_explicit(&instance, s, memory_order_release);
	}
	pthread_mutex_unlock(&make_lock);
	return s;
}

static void *use_settings(void *arg)
{
	int *sum = arg;

	for (int i = 0; i < USES; i++)
		*sum += get_settings()->volume + get_settings()->language;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	bool right = true;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, use_settings, &sums[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		right = right && sums[i] == 10 * USES;
	free(atomic_load(&instance));
	return print_outcome(right && atomic_load(&made) == 1);
}
