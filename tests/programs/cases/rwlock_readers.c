/*
 * Two readers of the same data, each with two critical sections in a block: shared
 * acquires do not conflict with each other.
 *
 * silent prints: 14 14
 */
#include "window.h"

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int x;
static int result[2];

BLOCK int get(void)
{
	pthread_rwlock_rdlock(&rw);
	int v = x;
	pthread_rwlock_unlock(&rw);
	return v;
}

BLOCK int get_twice(void)
{
	int a = get();

	window_hold(1);
	return a + get();
}

TWO_THREADS(result[0] = get_twice(), result[1] = get_twice())

int main(void)
{
	pthread_rwlock_wrlock(&rw);
	x = 7;
	pthread_rwlock_unlock(&rw);
	run_two(first, second);
	printf("%d %d\n", result[0], result[1]);
}
