/*
 * Memory: one idiom for the whole command line tool.
 *
 * These functions never return NULL. When there is no memory left, the tool has
 * nothing useful to say, so it says just that and exits with code 2.
 *
 * The runtime inside a checked program has functions of the same names, for the
 * engine files that are linked into it: they take pages of the runtime's own
 * (runtime/os/mem.c), never malloc's memory.
 *
 * Growing an array:
 *
 *	struct foo *v = NULL; size_t n = 0, cap = 0;
 *	MEM_GROW(v, cap, n + 1);
 *	v[n++] = x;
 *
 * MEM_GROW0 fills the new elements with zero bytes.
 */
#ifndef ATOMSAN_BASE_MEM_H
#define ATOMSAN_BASE_MEM_H

#include <stddef.h>

/* Print that memory is exhausted, and exit with code 2. */
_Noreturn void mem_exhausted(size_t bytes);

void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
void *mem_resize(void *p, size_t bytes);
void mem_free(void *p);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/* Returns zeroed memory that is aligned to a cache line. Free it with mem_free(). */
void *mem_zalloc_lines(size_t bytes);

/* Returns a capacity of at least `need` elements, and about half more than `cap`. */
size_t mem_next_cap(size_t cap, size_t need);
void *mem_grow_bytes(void *p, size_t *cap, size_t need, size_t elem, int zero);

#define MEM_GROW(p, cap, need)                                                                     \
	((need) > (cap) ? (void)((p) = mem_grow_bytes((p), &(cap), (need), sizeof *(p), 0))        \
			: (void)0)
#define MEM_GROW0(p, cap, need)                                                                    \
	((need) > (cap) ? (void)((p) = mem_grow_bytes((p), &(cap), (need), sizeof *(p), 1))        \
			: (void)0)

/*
 * An arena: many small allocations that are all freed together. It never moves
 * what it has handed out.
 */
struct arena {
	struct arena_block *head;
};
void *arena_alloc(struct arena *a, size_t bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
void arena_free(struct arena *a);

#endif
