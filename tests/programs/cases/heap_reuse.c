/*
 * Memory that is freed and used again is new memory: a block frees, another
 * thread gets the same bytes and gives them back, and the block gets them again.
 * Nobody met anybody.
 *
 * silent prints: malloc reused
 * silent prints: calloc reused
 * silent prints: realloc reused
 * silent prints: aligned_alloc reused
 * silent prints: posix_memalign reused
 * silent prints: memalign reused
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "window.h"

enum { SIZE = 4096, KINDS = 6 };

static void *by_realloc(void)
{
	/* The small one stays small, and something behind keeps the large one from growing. */
	return realloc(malloc(16), SIZE);
}

static void *get(int kind)
{
	void *p = NULL;

	switch (kind) {
	case 0:
		return malloc(SIZE);
	case 1:
		return calloc(SIZE / 8, 8);
	case 2:
		return by_realloc();
	case 3:
		return aligned_alloc(64, SIZE);
	case 4:
		return posix_memalign(&p, 64, SIZE) ? NULL : p;
	default:
		return memalign(64, SIZE);
	}
}

static void fill(volatile int *p, int v)
{
	for (int i = 0; i < SIZE / (int)sizeof *p; i++)
		p[i] = v;
}

static uintptr_t mine[KINDS], theirs[KINDS];

BLOCK void get_twice(int kind)
{
	int *p = get(kind);

	fill(p, 1);
	mine[kind] = (uintptr_t)p;
	free(p);
	window_hold(kind);
	p = get(kind);
	fill(p, 3);
	free(p);
}

BLOCK void get_once(int kind)
{
	int *p = get(kind);

	theirs[kind] = (uintptr_t)p;
	fill(p, 2);
	free(p);
}

static void *first(void *arg)
{
	for (int i = 0; i < KINDS; i++)
		get_twice(i);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < KINDS; i++) {
		window_enter(i);
		get_once(i);
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	static const char *const name[KINDS] = { "malloc",        "calloc",         "realloc",
						 "aligned_alloc", "posix_memalign", "memalign" };

	mallopt(M_ARENA_MAX, 1);
	run_two(first, second);
	for (int i = 0; i < KINDS; i++) {
		uintptr_t apart = mine[i] > theirs[i] ? mine[i] - theirs[i] : theirs[i] - mine[i];

		printf("%s %s\n", name[i], apart < SIZE ? "reused" : "not reused");
	}
}
