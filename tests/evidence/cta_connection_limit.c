/*
 * A limit on a resource: connections per client in a server, processes per user in the kernel (a
 * published report has the same for inotify watches). The count is an atomic variable. The code
 * compares it with the limit and then increments it, in two atomic operations: several threads that
 * compare first exceed the limit together.
 *
 * The twin increments first and takes the increment back if the limit is exceeded.
 */
// expect: function=serve_clients variable=active class=check-then-act where=loop
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

#define LIMIT    2
#define WORKERS  3
#define REQUESTS 6

static atomic_int active;
static atomic_int most, refused;

static void note_most(int now)
{
	int before = atomic_load(&most);
	while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
		;
}

static void *serve_clients(void *arg)
{
	unsigned *sum = arg;
	for (int i = 0; i < REQUESTS; i++) {
#ifdef FIXED
		int now = atomic_fetch_add(&active, 1) + 1;
		if (now > LIMIT) {
			atomic_fetch_sub(&active, 1);
			atomic_fetch_add(&refused, 1);
			continue;
		}
#else
		if (atomic_load(&active) >= LIMIT) {
			atomic_fetch_add(&refused, 1);
			continue;
		}
		pass_window();
		int now = atomic_fetch_add(&active, 1) + 1;
#endif
		note_most(now);
		for (unsigned n = 0; n < 1000; n++) /* the request */
			*sum = *sum * 31 + n;
		pass_window();
		atomic_fetch_sub(&active, 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	unsigned sums[WORKERS] = {0};
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, serve_clients, &sums[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(most <= LIMIT && active == 0);
}
