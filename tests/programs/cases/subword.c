/*
 * Fields of one word, each used by one thread only: accesses to different bytes do not
 * conflict. In the buggy program both threads use the same field.
 *
 * buggy blame: bump
 * buggy variable: word.b
 * buggy tsan: race
 * buggy prints: 0 1 0
 * fixed prints: 0 1 1
 */
#include <stdint.h>

#include "window.h"

static struct {
	uint16_t a;
	uint8_t b, c;
} word;

BLOCK void bump(uint8_t *byte)
{
	uint8_t v = *byte;

	window_hold(1);
	*byte = v + 1;
}

#ifdef FIXED
TWO_THREADS(bump(&word.b), bump(&word.c))
#else
TWO_THREADS(bump(&word.b), bump(&word.b))
#endif

int main(void)
{
	run_two(first, second);
	printf("%d %d %d\n", word.a, word.b, word.c);
}
