/*
 * Where things came from, for the reports: who created a thread and allocated a block, what a
 * thread and a label are called. Tables of a fixed size: what is older is forgotten.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_ORIGINS_H
#define ATOMSAN_RUNTIME_HISTORY_ORIGINS_H

#include "runtime/history/history.h"

/* The thread creates another; it allocates memory, or frees it. */
void origins_created(const struct rt_thread *t, uint32_t id, uintptr_t pc);
/* `time` is the machine's clock if the tool wants it in origins_allocation, else 0. */
void origins_allocated(const struct rt_thread *t, uintptr_t address, size_t size, uint64_t time,
		       uintptr_t pc);
void origins_freed(uintptr_t address);

/* A label's text; a thread's name. */
void origins_label(uint32_t number, const char *text, size_t n);
const char *origins_label_text(uint32_t number, size_t *n);
void origins_name(const struct rt_thread *t, const char *name, size_t n);

/* What is known of these: of the first so many labels; NULL: not known. */
bool origins_label_at(uint32_t i, uint32_t *number, const char **text, size_t *n);
const char *origins_name_of(uint32_t thread); /* 16 bytes at most */
/* Of a block that was allocated; of one of those that are known, below origins_allocations(). */
struct origins_allocation {
	uintptr_t address;
	size_t size;
	uintptr_t pc;
	uint64_t time; /* of prediction only */
	uint32_t thread;
	struct history_stack stack;
};
bool origins_allocation(uintptr_t address, struct origins_allocation *to);
enum { ORIGINS_ALLOCATIONS = 1 << 14 };
uint32_t origins_allocations(void); /* 0 before the first, then so many */
bool origins_allocation_at(uint32_t i, struct origins_allocation *to);
/* Of the same, no more than where it is. */
bool origins_block_at(uint32_t i, uintptr_t *address, size_t *size);

/* A thread's creation is kept at its number modulo this. */
enum { ORIGINS_CREATIONS = 1 << 8 };
struct origins_creation {
	uint32_t id, creator;
	uintptr_t pc; /* 0: there is none */
	struct history_stack stack;
};
const struct origins_creation *origins_creation_at(uint32_t i);

#endif
