/*
 * The memory of a recorded run: which bytes make up a variable, and which
 * memory is still the same.
 *
 * Conflicts are between bytes, events between variables. So the whole
 * recording is looked at first (raw_memory_mark): each access marks where it
 * begins and where it ends, and what lies between two marks is a variable: every
 * access has all of it or nothing. A buffer that is only ever copied as a
 * whole is one variable, or one a page; a word whose halves are used apart is two.
 *
 * The same look tells which memory only one thread ever touched. Its accesses
 * can be left out: they conflict with nothing.
 *
 * Memory that is freed, unmapped or a stack whose thread has ended is forgotten: when it
 * is used again it is new variables.
 *
 * Stacks are known, too: each address is on one thread's at most, the latest that
 * began there.
 *
 * Cost: 1.7 KiB and 4 bytes a variable for each page of 4 KiB that was accessed. A
 * limit on the pages holds a recording that makes no sense: what is behind it has no
 * variables.
 *
 * Who may include this: the reader of raw recordings, the commands that serve a running program.
 */
#ifndef ATOMSAN_TRACE_RAW_MEMORY_H
#define ATOMSAN_TRACE_RAW_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* User space ends here. */
#define RAW_MEMORY_LIMIT 0x800000000000ull
/* No address is above this; what a file has above it is cut off. */
#define RAW_MEMORY_MASK (RAW_MEMORY_LIMIT - 1)

struct raw_memory;
/* At most so many pages of 4 KiB have variables. */
struct raw_memory *raw_memory_new(size_t max_pages);
void raw_memory_free(struct raw_memory *m);

/* First, all accesses, in any order; then once: */
void raw_memory_mark(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
/* An edge that no access may make, of a heap block. */
void raw_memory_edge(struct raw_memory *m, uint64_t address);
void raw_memory_marked(struct raw_memory *m);
/* Pages that were marked in vain, since there are too many. */
uint64_t raw_memory_too_many(const struct raw_memory *m);
/* Start again with memory that nobody has touched; the marks stay. */
void raw_memory_restart(struct raw_memory *m);

/*
 * Then, in the order of time, of an access [*address, *address + *size): cut
 * off the first variable. Returns where its number is kept, 0 if it has none
 * yet, and sets its place and size; NULL where that memory is of one thread.
 * Moves *address and *size on behind it.
 */
uint32_t *raw_memory_variable(struct raw_memory *m, uint64_t *address, uint64_t *size,
			      uint64_t *start, uint64_t *bytes);
void raw_memory_forget(struct raw_memory *m, uint64_t address, uint64_t size);

/* A thread begins, and this is its stack; it has ended. Either way that memory is forgotten. */
void raw_memory_stack(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
void raw_memory_stack_gone(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
/* Whose stack is it on? */
#define RAW_NO_STACK UINT32_MAX
uint32_t raw_memory_stack_at(const struct raw_memory *m, uint64_t address);

/* Heap blocks. Numbers are from 1, and never used twice. */
struct raw_block {
	uint64_t address, size;
	strref place;
	uint32_t number;
};
void raw_memory_alloc(struct raw_memory *m, uint64_t address, uint64_t size, strref place);
void raw_memory_freed(struct raw_memory *m, uint64_t address);
/* The block that this address lies in, or NULL. */
const struct raw_block *raw_memory_block(struct raw_memory *m, uint64_t address);
/* Changes when the memory there is forgotten. */
uint64_t raw_memory_age(struct raw_memory *m, uint64_t address);

#endif
