/*
 * volatile makes nothing atomic.
 *
 * buggy blame: bump
 * buggy variable: ticks
 * buggy step: r read
 * buggy step: w write
 * buggy tsan: race
 * buggy prints: 1
 * fixed prints: 2
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int ticks;

BLOCK void bump(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
#endif
	int t = ticks; /* step: read */
	window_hold(1);
	ticks = t + 1; /* step: write */
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
}

TWO_THREADS(bump(), bump())

int main(void)
{
	run_two(first, second);
	printf("%d\n", ticks);
}
