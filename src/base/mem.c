#define ATOMSAN_MAY_MALLOC
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

void mem_exhausted(size_t bytes)
{
	fprintf(stderr, "atomsan: out of memory (%zu bytes wanted)\n", bytes);
	exit(2);
}

static void *exit_if_null(void *p, size_t bytes)
{
	if (!p)
		mem_exhausted(bytes);
	return p;
}

void *mem_alloc(size_t bytes)
{
	return exit_if_null(malloc(bytes ? bytes : 1), bytes);
}

void *mem_zalloc(size_t bytes)
{
	return exit_if_null(calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_zalloc_lines(size_t bytes)
{
	size_t rounded = (bytes + 63) & ~(size_t)63;
	void *p = exit_if_null(aligned_alloc(64, rounded ? rounded : 64), bytes);

	return memset(p, 0, rounded);
}

void *mem_resize(void *p, size_t bytes)
{
	return exit_if_null(realloc(p, bytes ? bytes : 1), bytes);
}

void mem_free(void *p)
{
	free(p);
}

char *mem_strndup(const char *s, size_t n)
{
	char *p = mem_alloc(n + 1);

	memcpy(p, s, n);
	p[n] = 0;
	return p;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

size_t mem_next_cap(size_t cap, size_t need)
{
	size_t next = cap + cap / 2 + 8;

	return next < need ? need : next;
}

void *mem_grow_bytes(void *p, size_t *cap, size_t need, size_t elem, int zero)
{
	size_t next = mem_next_cap(*cap, need);

	if (next > SIZE_MAX / elem)
		exit_if_null(NULL, SIZE_MAX);
	p = mem_resize(p, next * elem);
	if (zero)
		memset((char *)p + *cap * elem, 0, (next - *cap) * elem);
	*cap = next;
	return p;
}

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
	struct arena_block *b = a->head;
	void *p;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!b || b->size - b->used < bytes) {
		size_t size = bytes > 480 ? bytes : 480;

		b = mem_alloc(sizeof *b + size);
		b->next = a->head;
		b->used = 0;
		b->size = size;
		a->head = b;
	}
	p = b->data + b->used;
	b->used += bytes;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	memcpy(p, s, n);
	p[n] = 0;
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

void arena_free(struct arena *a)
{
	struct arena_block *b = a->head;

	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
	a->head = NULL;
}
