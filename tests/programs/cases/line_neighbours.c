/*
 * A block reads x, and functions that it calls, at several depths, access other bytes of the same
 * 64. A thread that writes x meanwhile cuts the block; a thread that writes yet other bytes of the
 * same 64 does not.
 *
 * buggy blame: work
 * buggy variable: s.x
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy tsan: race
 * buggy prints: x 1, y 2, others 1 0
 * fixed prints: x 1, y 2, others 1 5
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
struct {
	int x, y;
	char mine, others;
	long theirs;
} s __attribute__((aligned(64)));

BLOCK void inner(void)
{
	s.y++;
	s.mine = 1;
}

BLOCK void outer(void)
{
	s.y++;
	inner();
}

BLOCK void work(void)
{
	int v = s.x; /* step: read */

	outer();
	window_hold(1);
	s.x = v + 1; /* step: write */
}

static void *first(void *arg)
{
	work();
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	pthread_mutex_lock(&m);
	s.others = 1;
#ifdef FIXED
	s.theirs = 5;
#else
	s.x = 7;
#endif
	pthread_mutex_unlock(&m);
	window_leave(1);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("x %d, y %d, others %d %ld\n", s.x, s.y, s.others, s.theirs);
}
