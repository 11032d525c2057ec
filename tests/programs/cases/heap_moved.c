/*
 * realloc() that moves a block frees the old one: whoever gets that is no
 * stranger's neighbour.
 *
 * silent prints: moved and reused
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "window.h"

enum { SIZE = 4096, LARGE = 1 << 20 };

static uintptr_t old, other, again;

BLOCK void grow(void)
{
	volatile char *p = malloc(SIZE);
	volatile char *behind = malloc(16);

	p[8] = 1;
	old = (uintptr_t)p;
	p = realloc((void *)p, LARGE);
	window_hold(1);
	volatile char *q = malloc(SIZE);

	again = (uintptr_t)q;
	q[8] = 3;
	free((void *)q);
	free((void *)p);
	free((void *)behind);
}

BLOCK void borrow(void)
{
	volatile char *p = malloc(SIZE);

	other = (uintptr_t)p;
	p[8] = 2;
	free((void *)p);
}

TWO_THREADS(grow(), borrow())

int main(void)
{
	mallopt(M_ARENA_MAX, 1);
	run_two(first, second);
	printf("moved and %s\n", old == other && other == again ? "reused" : "not reused");
}
