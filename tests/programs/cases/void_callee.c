/*
 * A block calls functions that return no value, which compilers end by a jump: the block
 * ends when it returns itself, not with the first of these functions.
 *
 * buggy blame: both
 * buggy refuted: both
 * buggy variable: x
 * buggy rests: data
 * buggy prints: 2
 * fixed prints: 2
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

BLOCK void bump(void)
{
	pthread_mutex_lock(&m);
	x++;
	pthread_mutex_unlock(&m);
}

BLOCK void clear(void)
{
	pthread_mutex_lock(&m);
	x = 0;
	pthread_mutex_unlock(&m);
}

BLOCK void both(void)
{
	bump();
	bump();
	window_hold_for(1, 0);
	bump();
	bump();
}

static void *first(void *arg)
{
#ifdef FIXED
	/* In a start function, which is no block. */
	bump();
	bump();
	window_hold_for(1, 0);
	bump();
	bump();
#else
	both();
#endif
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	clear();
	window_leave(1);
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("%d\n", x);
}
