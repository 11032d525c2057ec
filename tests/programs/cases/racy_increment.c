/*
 * A read-modify-write without any lock.
 *
 * buggy blame: count_hit
 * buggy refuted: count_hit
 * buggy variable: hits
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy tsan: race
 * buggy prints: hits 1
 * fixed prints: hits 2
 */
#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long hits;

BLOCK void count_hit(void)
{
#ifdef FIXED
	pthread_mutex_lock(&m);
#endif
	long n = hits; /* step: read */
	window_hold(1);
	hits = n + 1; /* step: write */
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
}

TWO_THREADS(count_hit(), count_hit())

int main(void)
{
	run_two(first, second);
	pthread_mutex_lock(&m);
	printf("hits %ld\n", hits);
	pthread_mutex_unlock(&m);
}
