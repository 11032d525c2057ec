/*
 * Memory that operator delete frees and operator new returns again is new memory. As
 * heap_reuse.c, with all forms of the operators.
 *
 * silent prints: reused
 */
#include <cstdint>
#include <malloc.h>
#include <new>
#include <thread>

#include "window.h"

enum { SIZE = 4096, MANY = 16, KINDS = 4 };

static void *get(int kind)
{
	switch (kind) {
	case 0:
		return operator new(SIZE);
	case 1:
		return new char[SIZE];
	case 2:
		return operator new(SIZE, std::align_val_t(128));
	default:
		return operator new(SIZE, std::nothrow);
	}
}

static void give_back(int kind, void *p)
{
	switch (kind) {
	case 0:
		operator delete(p);
		break;
	case 1:
		delete[](char *) p;
		break;
	case 2:
		operator delete(p, std::align_val_t(128));
		break;
	default:
		operator delete(p, std::nothrow);
	}
}

static uintptr_t mine[KINDS][MANY], theirs[KINDS][MANY], again[MANY];

static void use(int kind, uintptr_t *start)
{
	volatile char *p[MANY];

	for (int i = 0; i < MANY; i++) {
		p[i] = (char *)get(kind);
		start[i] = (uintptr_t)p[i];
		for (int k = 0; k < SIZE; k += 8)
			p[i][k] = 1;
	}
	for (int i = 0; i < MANY; i++)
		give_back(kind, (void *)p[i]);
}

BLOCK void use_twice(int kind)
{
	use(kind, mine[kind]);
	window_hold(kind);
	use(kind, again);
}

BLOCK void use_once(int kind)
{
	use(kind, theirs[kind]);
}

static bool overlap(const uintptr_t *a, const uintptr_t *b)
{
	for (int i = 0; i < MANY; i++)
		for (int k = 0; k < MANY; k++)
			if (a[i] < b[k] + SIZE && b[k] < a[i] + SIZE)
				return true;
	return false;
}

int main()
{
	int reused = 0;

	mallopt(M_ARENA_MAX, 1);
	std::thread one([] {
		for (int i = 0; i < KINDS; i++)
			use_twice(i);
	});
	std::thread other([] {
		for (int i = 0; i < KINDS; i++) {
			window_enter(i);
			use_once(i);
			window_leave(i);
		}
	});
	one.join();
	other.join();
	for (int i = 0; i < KINDS; i++)
		reused += overlap(mine[i], theirs[i]);
	printf("%s\n", reused > KINDS / 2 ? "reused" : "hardly reused");
}
