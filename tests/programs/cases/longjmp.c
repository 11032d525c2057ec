/*
 * A jump out of a block ends it: what the thread does afterwards is not part of
 * it. In the buggy program the jump lands inside the block.
 *
 * buggy blame: whole
 * buggy refuted: whole
 * buggy variable: x
 * buggy prints: 3 jumps, x 3
 * fixed prints: 3 jumps, x 3
 */
#include <setjmp.h>
#include <stdatomic.h>

#include "window.h"

static atomic_int x;
static int jumps;
static jmp_buf plain, bare;
static sigjmp_buf with_signals;

BLOCK void leave(int way)
{
	jumps++;
	if (way == 0)
		longjmp(plain, 1);
	if (way == 1)
		_longjmp(bare, 1);
	siglongjmp(with_signals, 1);
}

BLOCK void read_and_jump(int way)
{
	atomic_load(&x);
	window_hold_for(way, 0);
	leave(way);
}

BLOCK void write_it(int way)
{
	atomic_store(&x, way + 1);
}

/* Not a function: it would be a block itself, and a caller of setjmp() is not inlined. */
#define EACH_WAY                                                                                   \
	do {                                                                                       \
		if (setjmp(plain) == 0)                                                            \
			read_and_jump(0);                                                          \
		write_it(0);                                                                       \
		if (_setjmp(bare) == 0)                                                            \
			read_and_jump(1);                                                          \
		write_it(1);                                                                       \
		if (sigsetjmp(with_signals, 1) == 0)                                               \
			read_and_jump(2);                                                          \
		write_it(2);                                                                       \
	} while (0)

BLOCK void whole(void)
{
	EACH_WAY;
}

static void *first(void *arg)
{
#ifdef FIXED
	EACH_WAY;
#else
	whole();
#endif
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < 3; i++) {
		window_enter(i);
		atomic_store(&x, -1);
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("%d jumps, x %d\n", jumps, atomic_load(&x));
}
