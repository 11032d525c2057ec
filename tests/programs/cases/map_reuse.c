/*
 * Memory that was unmapped and mapped again is new memory.
 *
 * silent prints: same address
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "window.h"

enum { SIZE = 1 << 16 };

/* Far from the addresses that the system chooses for mappings. */
static char *const place = (char *)0x1000000000;

static volatile char *map(void)
{
	char *p = mmap(place, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != place)
		abort();
	return p;
}

BLOCK void map_twice(void)
{
	volatile char *p = map();

	p[100] = 1;
	munmap((void *)p, SIZE);
	window_hold(1);
	p = map();
	p[100] = 3;
	munmap((void *)p, SIZE);
}

BLOCK void map_once(void)
{
	volatile char *p = map();

	p[100] = 2;
	munmap((void *)p, SIZE);
}

TWO_THREADS(map_twice(), map_once())

int main(void)
{
	run_two(first, second);
	printf("same address\n");
}
