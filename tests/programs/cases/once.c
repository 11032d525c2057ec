/*
 * Lazy initialisation: by hand, with two critical sections, and by pthread_once().
 *
 * buggy blame: instance
 * buggy refuted: instance
 * buggy variable: ready
 * buggy step: r check
 * buggy prints: made 2
 * fixed prints: made 1
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ready, made;

static void make(void)
{
	made++;
	window_hold_for(2, 1); /* another thread comes and finds it half done */
}

BLOCK int instance(void)
{
#ifdef FIXED
	pthread_once(&once, make);
	return made;
#else
	pthread_mutex_lock(&m);
	int r = ready; /* step: check */
	pthread_mutex_unlock(&m);
	if (!r) {
		window_hold(1);
		pthread_mutex_lock(&m);
		make();
		ready = 1;
		pthread_mutex_unlock(&m);
	}
	return r;
#endif
}

#ifdef FIXED
#define WINDOW 2
#else
#define WINDOW 1
#endif

static void *first(void *arg)
{
	instance();
	return arg;
}

static void *second(void *arg)
{
	window_enter(WINDOW);
	instance();
	window_leave(WINDOW);
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("made %d\n", made);
}
