/*
 * A block that works on its own memory for thousands of calls before it calls the function that is
 * cut, which reads again what the block has read: both are refuted. The other thread takes no lock,
 * so the read is the only evidence; the lock is taken by one of the program's functions.
 *
 * buggy blame: busy
 * buggy refuted: busy
 * buggy refuted: update
 * buggy variable: x
 * buggy rests: data
 * buggy step: r read
 * buggy tsan: race
 * buggy prints: 3000 calls, x 1
 * fixed prints: 3000 calls, x 3
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, calls;

BLOCK void enter(void)
{
	pthread_mutex_lock(&m);
}

BLOCK void leave(void)
{
	pthread_mutex_unlock(&m);
}

BLOCK void work(int *n)
{
	++*n;
}

BLOCK void update(void)
{
	enter();
	int v = x; /* step: read */
#ifndef FIXED
	leave();
#endif
	window_hold(1);
#ifndef FIXED
	enter();
#endif
	x = v + 1;
	leave();
}

BLOCK void busy(void)
{
#ifndef FIXED
	enter();
	if (x)
		calls = -1;
	leave();
#endif
	for (int i = 0; i < 3000; i++)
		work(&calls);
	update();
}

BLOCK void add_two(void)
{
#ifdef FIXED
	enter();
#endif
	x += 2;
#ifdef FIXED
	leave();
#endif
}

TWO_THREADS(busy(), add_two())

int main(void)
{
	run_two(first, second);
	printf("%d calls, x %d\n", calls, x);
}
