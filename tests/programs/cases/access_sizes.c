/*
 * A lost update for each size of access. (long double is missing: clang does not
 * instrument it.)
 *
 * buggy blame: bump1
 * buggy blame: bump2
 * buggy blame: bump4
 * buggy blame: bump8
 * buggy blame: bump16
 * buggy blame: bump_double
 * buggy blame: bump_struct
 * buggy variable: v16
 * buggy variable: v_struct*
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: 1 1 1 1 1 1 1
 * fixed prints: 2 2 2 2 2 2 2
 */
#include <stdint.h>

#include "window.h"

struct large {
	long part[9];
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static uint8_t v1;
static uint16_t v2;
static uint32_t v4;
static uint64_t v8;
static __int128 v16;
static double v_double;
static struct large v_struct;

#ifdef FIXED
#define LOCK   pthread_mutex_lock(&m)
#define UNLOCK pthread_mutex_unlock(&m)
#else
#define LOCK   (void)m
#define UNLOCK (void)m
#endif

#define BUMP(name, type, v, window)                                                                \
	BLOCK void name(void)                                                                      \
	{                                                                                          \
		LOCK;                                                                              \
		type copy = v;                                                                     \
		window_hold(window);                                                               \
		v = copy + 1;                                                                      \
		UNLOCK;                                                                            \
	}

BUMP(bump1, uint8_t, v1, 1)
BUMP(bump2, uint16_t, v2, 2)
BUMP(bump4, uint32_t, v4, 3)
BUMP(bump8, uint64_t, v8, 4)
BUMP(bump16, __int128, v16, 5)
BUMP(bump_double, double, v_double, 6)

BLOCK void bump_struct(void)
{
	LOCK;
	struct large copy = v_struct;
	window_hold(7);
	copy.part[4]++;
	v_struct = copy;
	UNLOCK;
}

enum { KINDS = 7 };
static void (*const bump[KINDS])(void) = {bump1,  bump2,       bump4,      bump8,
					  bump16, bump_double, bump_struct};

static void *first(void *arg)
{
	for (int i = 0; i < KINDS; i++)
		bump[i]();
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < KINDS; i++) {
		window_enter(i + 1);
		bump[i]();
		window_leave(i + 1);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("%d %d %d %d %d %d %d\n", v1, v2, (int)v4, (int)v8, (int)v16, (int)v_double,
	       (int)v_struct.part[4]);
}
