/*
 * The variable is a field of an allocation on the heap.
 *
 * buggy blame: spend
 * buggy refuted: spend
 * buggy variable: *p->coins*
 * buggy step: r read
 * buggy step: w write
 * buggy prints: -40
 * fixed prints: 60
 */
#include <stdlib.h>

#include "window.h"

struct purse {
	long owner, coins, spare;
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

BLOCK void spend(struct purse *p, long price)
{
	pthread_mutex_lock(&m);
	long left = p->coins; /* step: read */
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	if (left >= price) {
		window_hold(1);
#ifndef FIXED
		pthread_mutex_lock(&m);
#endif
		p->coins -= price; /* step: write */
#ifndef FIXED
		pthread_mutex_unlock(&m);
#endif
	}
#ifdef FIXED
	pthread_mutex_unlock(&m);
#endif
}

static struct purse *purse;

TWO_THREADS(spend(purse, 70), spend(purse, 70))

int main(void)
{
	purse = calloc(1, sizeof *purse);
	purse->coins = 100;
	run_two(first, second);
#ifdef FIXED
	purse->coins += 30;
#endif
	printf("%ld\n", purse->coins);
	free(purse);
}
