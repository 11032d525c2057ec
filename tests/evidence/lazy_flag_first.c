/*
 * Double-checked initialisation that sets its flag too early, a mistake that the literature on the
 * double-checked pattern lists first. The flag says that the settings are ready, but it is set
 * before they are filled in; a thread that tests the flag without the lock uses empty settings.
 * Flag and settings are meant to change in one step.
 *
 * The twin sets the flag last.
 */
// expect: function=load_settings variable=ready,settings,limit class=lazy-init where=function
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

#define REQUESTS 5

static struct {
	int limit, timeout;
} settings;
static atomic_bool ready;
static pthread_mutex_t settings_lock = PTHREAD_MUTEX_INITIALIZER;

static void load_settings(void)
{
	pthread_mutex_lock(&settings_lock);
	if (!atomic_load(&ready)) {
#ifndef FIXED
		atomic_store(&ready, true);
		pass_window();
#endif
		settings.limit = 100;
		settings.timeout = 30;
#ifdef FIXED
		pass_window();
		atomic_store(&ready, true);
#endif
	}
	pthread_mutex_unlock(&settings_lock);
}

static int get_limit(void)
{
	if (!atomic_load(&ready))
		load_settings();
	return settings.limit;
}

static void *serve(void *arg)
{
	int *empty = arg;
	for (int i = 0; i < REQUESTS; i++)
		*empty += get_limit() == 0;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int empty[2] = {0, 0};
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, serve, &empty[i]);
#ifdef PROVE
		usleep(5000);
#endif
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(empty[0] + empty[1] == 0);
}
