/*
 * Blocks that are marked in the source, in functions that are no blocks by default: a
 * scope that is left early, and a begin with its end.
 *
 * buggy blame: scope of two
 * buggy blame: between
 * buggy refuted: scope of two
 * buggy refuted: between
 * buggy rests: data
 * buggy prints: 1 1
 * fixed prints: 1 1
 */
#include <atomsan/atomsan.h>
#include <stdatomic.h>

#include "window.h"

static atomic_int x[2];

/* In the fixed program the marks end before the window. */
static void *first(void *arg)
{
	int v = 0;

	for (int i = 0; i < 1; i++) {
		ATOMSAN_ATOMIC("scope of two");
		v = atomic_load(&x[0]);
#ifdef FIXED
		break;
#else
		window_hold_for(0, 0);
		atomic_store(&x[0], v + 1);
		continue;
#endif
	}
#ifdef FIXED
	window_hold_for(0, 0);
	atomic_store(&x[0], v + 1);
#endif

	ATOMSAN_BEGIN("between");
	v = atomic_load(&x[1]);
#ifdef FIXED
	ATOMSAN_END();
#endif
	window_hold_for(1, 0);
	atomic_store(&x[1], v + 1);
#ifndef FIXED
	ATOMSAN_END();
#endif
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < 2; i++) {
		window_enter(i);
		atomic_store(&x[i], 5);
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", x[0], x[1]);
}
