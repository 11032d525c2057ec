/*
 * Memory that is freed and allocated again is new memory: a block frees it, another
 * thread allocates and frees the same bytes, and the block allocates them again. The
 * two threads do not conflict.
 *
 * silent prints: reused
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "window.h"

enum { SIZE = 4096, MANY = 16, KINDS = 7, MOVED = 6 };

static void *get(int kind)
{
	void *p = NULL;

	switch (kind) {
	case 1:
		return calloc(SIZE / 8, 8);
	case 2:
		return realloc(malloc(16), SIZE);
	case 3:
		return aligned_alloc(64, SIZE);
	case 4:
		return posix_memalign(&p, 64, SIZE) ? NULL : p;
	case 5:
		return memalign(64, SIZE);
	default:
		return malloc(SIZE);
	}
}

/* An allocation that moved was freed at its old address. */
static void give_back(int kind, void *p)
{
	if (kind == MOVED)
		p = realloc(p, 1 << 20);
	free(p);
}

struct uses {
	uintptr_t start[MANY];
};
static struct uses mine[KINDS], theirs[KINDS];

static void use(int kind, struct uses *uses)
{
	volatile char *p[MANY];

	for (int i = 0; i < MANY; i++) {
		p[i] = get(kind);
		uses->start[i] = (uintptr_t)p[i];
		for (int k = 0; k < SIZE; k += 8)
			p[i][k] = 1;
	}
	for (int i = 0; i < MANY; i++)
		give_back(kind, (void *)p[i]);
}

BLOCK void use_twice(int kind)
{
	struct uses again;

	use(kind, &mine[kind]);
	window_hold(kind);
	use(kind, &again);
}

BLOCK void use_once(int kind)
{
	use(kind, &theirs[kind]);
}

static void *first(void *arg)
{
	for (int i = 0; i < KINDS; i++)
		use_twice(i);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < KINDS; i++) {
		window_enter(i);
		use_once(i);
		window_leave(i);
	}
	return arg;
}

static int overlap(const struct uses *a, const struct uses *b)
{
	for (int i = 0; i < MANY; i++)
		for (int k = 0; k < MANY; k++)
			if (a->start[i] < b->start[k] + SIZE && b->start[k] < a->start[i] + SIZE)
				return 1;
	return 0;
}

int main(void)
{
	int reused = 0;

	mallopt(M_ARENA_MAX, 1);
	run_two(first, second);
	for (int i = 0; i < KINDS; i++)
		reused += overlap(&mine[i], &theirs[i]);
	/* The allocator decides where the others are. */
	printf("%s\n", reused > KINDS / 2 ? "reused" : "hardly reused");
}
