/*
 * Thread-local storage is not shared, and neither are the values of keys.
 *
 * silent prints: 3 3
 */
#include <stdlib.h>

#include "window.h"

static __thread int counter;
static pthread_key_t key;

BLOCK int bump_twice(void)
{
	int *p = pthread_getspecific(key);

	counter++;
	*p += counter;
	window_hold(1);
	counter++;
	*p += counter;
	return *p;
}

static int result[2];

static void *run(int i)
{
	int *p = calloc(1, sizeof *p);

	pthread_setspecific(key, p);
	result[i] = bump_twice();
	return NULL;
}

TWO_THREADS(run(0), run(1))

int main(void)
{
	pthread_key_create(&key, free);
	run_two(first, second);
	printf("%d %d\n", result[0], result[1]);
}
