/*
 * The memory of a recorded run: which bytes make up a variable, and which
 * memory is still the same.
 *
 * Accesses conflict if they have a byte in common, but events are about
 * variables. So a first pass over the whole recording (raw_memory_add_access)
 * collects the boundaries: where accesses begin and end. The bytes between two
 * neighbouring boundaries are a variable: every access covers all of it or none of
 * it. A buffer that is only ever copied as a whole is one variable, or one in each
 * page; a word whose halves are accessed separately is two.
 *
 * The first pass also finds the memory that only one thread ever accessed. These
 * accesses conflict with nothing, and the reader leaves them out.
 *
 * Memory that was freed or unmapped, and the stack of a thread that has ended, is
 * forgotten: if it is used again, it has new variables.
 *
 * Stacks are remembered too: an address is on the stack of at most one thread,
 * the last one that began there.
 *
 * Memory: 1.7 KiB for each page of 4 KiB that was accessed, and 4 bytes for each
 * variable. The number of pages is limited, because of recordings that make no
 * sense; accesses of further pages have no variables.
 *
 * Included by: raw_memory.c, raw_names.h, raw_impl.h, tests.
 */
#ifndef ATOMSAN_TRACE_RAW_MEMORY_H
#define ATOMSAN_TRACE_RAW_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* The end of user space. */
#define RAW_MEMORY_LIMIT 0x800000000000ull
/* Bits of an address above these are ignored. */
#define RAW_MEMORY_MASK (RAW_MEMORY_LIMIT - 1)

struct raw_memory;
/* Returns an empty memory, for raw_memory_free(), in which at most max_pages have variables. */
struct raw_memory *raw_memory_new(size_t max_pages);
void raw_memory_free(struct raw_memory *m);

/* The first pass: every access, in any order. */
void raw_memory_add_access(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
/* After the accesses: a thread frees this memory. What other threads accessed of it is shared. */
void raw_memory_add_free(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
/* Also the bounds of allocations and locks, where perhaps no access begins or ends. */
void raw_memory_add_boundary(struct raw_memory *m, uint64_t address);
/* Ends the first pass: the boundaries make variables. */
void raw_memory_finish_accesses(struct raw_memory *m);
/* Returns the number of accessed pages that were over the limit. */
uint64_t raw_memory_lost_pages(const struct raw_memory *m);
/* Begins the second pass again: forgets everything but the boundaries. */
void raw_memory_restart(struct raw_memory *m);

/*
 * The second pass, in the order of time. Takes the first variable off the front
 * of the access [*address, *address + *size), which becomes the rest of the
 * access. Sets *start and *bytes to the variable's address and size. Returns
 * where the caller keeps the variable's number plus 1, which is 0 at first; NULL
 * if only one thread accesses that memory.
 */
uint32_t *raw_memory_next_variable(struct raw_memory *m, uint64_t *address, uint64_t *size,
				   uint64_t *start, uint64_t *bytes);
void raw_memory_forget(struct raw_memory *m, uint64_t address, uint64_t size);

/* The stack of a thread that begins, or that has ended. Either way that memory is forgotten. */
void raw_memory_begin_stack(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
void raw_memory_end_stack(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread);
/* Returns the thread whose stack has this address, or RAW_NO_STACK. */
#define RAW_NO_STACK UINT32_MAX
uint32_t raw_memory_stack_at(const struct raw_memory *m, uint64_t address);

/* An allocation. Numbers count from 1 and are never used twice. */
struct raw_allocation {
	uint64_t address, size;
	strref place; /* of the call that made it */
	uint32_t number;
};
void raw_memory_alloc(struct raw_memory *m, uint64_t address, uint64_t size, strref place);
void raw_memory_dealloc(struct raw_memory *m, uint64_t address);
/* Returns the allocation that this address lies in, or NULL. */
const struct raw_allocation *raw_memory_allocation_at(struct raw_memory *m, uint64_t address);
/* Returns a number that changes when the memory at this address is forgotten. */
uint64_t raw_memory_age(struct raw_memory *m, uint64_t address);

#endif
