/*
 * Updates in a start function, which is no block. outside stale|whole|own|ordered|rounds
 *   stale    reads and writes in two critical sections: not checked by blocks
 *   whole    each update is one critical section
 *   own      each thread has its own variables, which main prepares and reads
 *   ordered  a barrier is between the accesses of different threads
 *   rounds   a loop, and each round reads in one section and writes something else in another
 */
#include <pthread.h>
#include <string.h>

#include "order.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static const char *how;
static int total, other;
static struct own {
	int who, sum;
} own[2];

static int is_how(const char *name)
{
	return !strcmp(how, name);
}

static void *worker(void *arg)
{
	struct own *o = arg;
	int value;

	order_wait(is_how("ordered") ? 0 : o->who);
	if (is_how("stale")) {
		pthread_mutex_lock(&m);
		value = total;
		pthread_mutex_unlock(&m);
		pthread_mutex_lock(&m);
		total = value + 1;
		pthread_mutex_unlock(&m);
	} else if (is_how("whole")) {
		pthread_mutex_lock(&m);
		total++;
		pthread_mutex_unlock(&m);
		pthread_mutex_lock(&m);
		other++;
		pthread_mutex_unlock(&m);
	} else if (is_how("own")) {
		o->sum++;
		o->sum += o->who;
	} else if (is_how("rounds")) {
		for (int i = 0; i < 3; i++) {
			pthread_mutex_lock(&m);
			value = total;
			pthread_mutex_unlock(&m);
			pthread_mutex_lock(&m);
			other = value;
			total++;
			pthread_mutex_unlock(&m);
		}
	} else {
		if (!o->who)
			total++;
		pthread_barrier_wait(&both);
		if (o->who)
			total++;
		return NULL;
	}
	order_next();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	int all = 0;

	how = argv[argc - 1];
	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++) {
		own[i].who = i;
		pthread_create(&t[i], NULL, worker, &own[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		all += own[i].sum;
		own[i].sum = 0;
	}
	return all < 0;
}
