/*
 * A queue whose functions lock, and a caller that first checks whether the queue is
 * empty and then takes an element.
 *
 * buggy blame: take_if_any
 * buggy refuted: take_if_any
 * buggy variable: used
 * buggy rests: data
 * buggy step: r ask
 * buggy prints: left -1
 * fixed prints: left 0
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int used = 1;

#ifdef FIXED

BLOCK void take_if_any(void)
{
	pthread_mutex_lock(&m);
	if (used > 0) {
		window_hold(1);
		used--;
	}
	pthread_mutex_unlock(&m);
}

#else

BLOCK int is_empty(void)
{
	pthread_mutex_lock(&m);
	int empty = used <= 0; /* step: ask */
	pthread_mutex_unlock(&m);
	return empty;
}

BLOCK void take(void)
{
	pthread_mutex_lock(&m);
	used--;
	pthread_mutex_unlock(&m);
}

BLOCK void take_if_any(void)
{
	if (!is_empty()) {
		window_hold(1);
		take();
	}
}

#endif

TWO_THREADS(take_if_any(), take_if_any())

int main(void)
{
	run_two(first, second);
	printf("left %d\n", used);
}
