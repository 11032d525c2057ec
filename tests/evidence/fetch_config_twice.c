/*
 * A configuration that is reloaded while the server runs (nginx, HAProxy and others have fixed
 * this). The current configuration is returned by a function that takes the lock, and a worker
 * calls it once for the number of back ends and again for their list. A reload in between gives it
 * a number from one configuration and a list from the other. Both are meant to be from the same
 * one.
 *
 * The twin asks once and uses the pointer for both.
 */
// expect: function=choose_backends variable=current class=double-fetch where=loop
#include <pthread.h>
#include "prove.h"

#define REQUESTS 20
#define RELOADS  6

struct config {
	int count;
	int ports[4];
};

static const struct config small = {1, {8001, 0, 0, 0}};
static const struct config large = {4, {8001, 8002, 8003, 8004}};
static const struct config *current = &large;
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct config *get_config(void)
{
	pthread_mutex_lock(&config_lock);
	const struct config *config = current;
	pthread_mutex_unlock(&config_lock);
	return config;
}

static void *choose_backends(void *arg)
{
	int *invalid = arg;
	for (int i = 0; i < REQUESTS; i++) {
#ifdef FIXED
		const struct config *config = get_config();
		int chosen = config->count - 1;
		pass_window();
		*invalid += config->ports[chosen] == 0;
#else
		int chosen = get_config()->count - 1;
		pass_window();
		*invalid += get_config()->ports[chosen] == 0;
#endif
	}
	return NULL;
}

static void *reload(void *arg)
{
	(void)arg;
	for (int i = 0; i < RELOADS; i++) {
#ifdef PROVE
		usleep(30000);
#endif
		pthread_mutex_lock(&config_lock);
		current = i % 2 ? &large : &small;
		pthread_mutex_unlock(&config_lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int invalid = 0;
	pthread_create(&threads[0], NULL, choose_backends, &invalid);
	pthread_create(&threads[1], NULL, reload, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(invalid == 0);
}
