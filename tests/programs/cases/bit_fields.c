/*
 * Bit-fields in one byte: writing one reads and writes the others, too.
 *
 * buggy blame: open_then_close
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: 2 1
 * fixed prints: 2 1
 */
#include "window.h"

static struct {
	unsigned door : 3;
#ifdef FIXED
	unsigned : 0;
#endif
	unsigned lamp : 3;
} state;

BLOCK void open_then_close(void)
{
	state.door = 1;
	window_hold(1);
	state.door = 2;
}

BLOCK void switch_on(void)
{
	state.lamp = 1;
}

TWO_THREADS(open_then_close(), switch_on())

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", state.door, state.lamp);
}
