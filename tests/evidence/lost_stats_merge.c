/*
 * A thread pool adds its workers' statistics to the total with accessors that each take the lock,
 * the way synchronised getters and setters are used in many published bugs (the Java studies have
 * several). The call of the getter and the call of the setter are meant to be one step: totals that
 * another worker sets in between are lost.
 *
 * The twin has one function that adds under the lock.
 */
// expect: function=merge_stats variable=requests,bytes,total class=lost-update where=inlined
#include <pthread.h>
#include "prove.h"

#define WORKERS 3
#define ROUNDS  10

struct stats {
	long requests, bytes;
};

static struct stats total;
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef FIXED
static void add_total(const struct stats *more)
{
	pthread_mutex_lock(&total_lock);
	total.requests += more->requests;
	total.bytes += more->bytes;
	pthread_mutex_unlock(&total_lock);
}
#else
static struct stats get_total(void)
{
	pthread_mutex_lock(&total_lock);
	struct stats now = total;
	pthread_mutex_unlock(&total_lock);
	return now;
}

static void set_total(const struct stats *now)
{
	pthread_mutex_lock(&total_lock);
	total = *now;
	pthread_mutex_unlock(&total_lock);
}
#endif

static void merge_stats(const struct stats *mine)
{
#ifdef FIXED
	add_total(mine);
#else
	struct stats now = get_total();
	now.requests += mine->requests;
	now.bytes += mine->bytes;
	pass_window();
	set_total(&now);
#endif
}

static void *worker(void *arg)
{
	long size = *(const long *)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct stats mine = {1, size};
		merge_stats(&mine);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	long sizes[WORKERS] = {100, 200, 300};
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &sizes[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(total.requests == WORKERS * ROUNDS && total.bytes == 600 * ROUNDS);
}
