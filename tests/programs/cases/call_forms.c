/*
 * Functions that end in a call, take any number of arguments, or whose frame
 * has no fixed size: each is a block from its first to its last operation.
 *
 * buggy blame: ends_in_call
 * buggy blame: any_number
 * buggy blame: with_alloca
 * buggy blame: with_array
 * buggy blame: by_pointer
 * buggy refuted: ends_in_call
 * buggy refuted: any_number
 * buggy refuted: with_alloca
 * buggy refuted: with_array
 * buggy refuted: by_pointer
 * buggy rests: data
 * buggy prints: 1 1 1 1 1
 * fixed prints: 2 2 2 2 2
 */
#include <alloca.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "window.h"

enum { KINDS = 5 };
static atomic_int v[KINDS];

#ifdef FIXED
#define GET(i)    atomic_fetch_add(&v[i], 1)
#define SET(i, x) ((void)(x))
#else
#define GET(i)    atomic_load(&v[i])
#define SET(i, x) atomic_store(&v[i], x)
#endif

BLOCK int put(int i, int x)
{
	SET(i, x);
	return i;
}

BLOCK int ends_in_call(int i)
{
	int x = GET(i);

	window_hold(i);
	return put(i, x + 1);
}

BLOCK int any_number(int i, ...)
{
	va_list list;
	int add, x = GET(i);

	window_hold(i);
	va_start(list, i);
	while ((add = va_arg(list, int)))
		x += add;
	va_end(list);
	SET(i, x);
	return i;
}

BLOCK int with_alloca(int i)
{
	volatile int *p = alloca((i + 1) * 100 * sizeof *p);

	p[i] = GET(i);
	window_hold(i);
	SET(i, p[i] + 1);
	return i;
}

BLOCK int with_array(int i)
{
	volatile int a[i + 1];

	a[i] = GET(i);
	window_hold(i);
	SET(i, a[i] + 1);
	return i;
}

BLOCK int by_pointer(int i)
{
	int x = GET(i);

	window_hold(i);
	SET(i, x + 1);
	return i;
}

static int (*volatile pointer)(int) = by_pointer;

static inline __attribute__((always_inline)) int call(int i)
{
	switch (i) {
	case 0:
		return ends_in_call(i);
	case 1:
		return any_number(i, 1, 2, -2, 0);
	case 2:
		return with_alloca(i);
	case 3:
		return with_array(i);
	default:
		return pointer(i);
	}
}

static void *first(void *arg)
{
	for (int i = 0; i < KINDS; i++)
		call(i);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < KINDS; i++) {
		window_enter(i);
		call(i);
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("%d %d %d %d %d\n", v[0], v[1], v[2], v[3], v[4]);
}
