/*
 * Accesses that are not aligned and cross the edge of a word: they conflict if
 * their bytes overlap, and only then.
 *
 * buggy blame: bump
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: 1
 * fixed prints: 2
 */
#include <stdint.h>
#include <string.h>

#include "window.h"

struct packed {
	uint32_t v;
} __attribute__((packed));

static _Alignas(16) char memory[32];

BLOCK void bump(struct packed *p)
{
	uint32_t v = p->v;

	window_hold(1);
	p->v = v + 1;
}

/* Bytes 5 to 8; then 9 to 12, or 8 to 11. */
#ifdef FIXED
#define OTHER 9
#else
#define OTHER 8
#endif

TWO_THREADS(bump((struct packed *)(memory + 5)), bump((struct packed *)(memory + OTHER)))

int main(void)
{
	int sum = 0;

	run_two(first, second);
	for (size_t i = 0; i < sizeof memory; i++)
		sum += memory[i];
	printf("%d\n", sum);
}
