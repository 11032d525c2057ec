/*
 * Origins, for reports: where a thread was created and an allocation was made, the
 * names of threads and the texts of labels.
 *
 * The tables have a fixed size. Threads and allocations that fall on the same entry
 * replace each other; labels are kept for good, until their table is full. Nothing
 * here takes a lock: a reader checks that an entry belongs to what it looks for.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_ORIGINS_H
#define ATOMSAN_RUNTIME_HISTORY_ORIGINS_H

#include "runtime/history/history.h"

/* --- threads --- */

/* Thread `t` creates thread `id`. */
void origins_created(const struct rt_thread *t, uint32_t id, uintptr_t pc);

struct origins_creation {
	uint32_t id, creator;
	uintptr_t pc; /* 0: the entry is empty */
	struct history_stack stack;
};
/* The creation of a thread is kept at its number modulo ORIGINS_CREATIONS. */
enum { ORIGINS_CREATIONS = 1 << 8 };
const struct origins_creation *origins_creation_at(uint32_t i);

/* Set a thread's name, of which 16 bytes are kept. */
void origins_name(const struct rt_thread *t, const char *name, size_t n);
/* Returns a thread's name, of 16 bytes and not always terminated; NULL if it is not known. */
const char *origins_name_of(uint32_t thread);

/* --- allocations --- */

/* Note an allocation. */
void origins_allocated(const struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
/* Forget an allocation. */
void origins_freed(uintptr_t address);

struct origins_allocation {
	uintptr_t address;
	size_t size;
	uintptr_t pc;
	uint32_t thread; /* the thread that allocated it */
	struct history_stack stack;
};
/* Returns the number of entries: 0 before the first allocation, then ORIGINS_ALLOCATIONS. */
enum { ORIGINS_ALLOCATIONS = 1 << 14 };
uint32_t origins_allocations(void);
/* Copy entry `i`, below origins_allocations(). False: it is empty, or just being changed. */
bool origins_allocation_at(uint32_t i, struct origins_allocation *to);
/* The same, but only the address and size of the allocation. */
bool origins_extent_at(uint32_t i, uintptr_t *address, size_t *size);

/* --- labels --- */

/* Keep the text of the label with this number, its first 128 bytes. False: there is no room. */
bool origins_label(uint32_t number, const char *text, size_t n);
/* Returns the text of a label, "" if it is not known. It stays valid and is not terminated. */
const char *origins_label_text(uint32_t number, size_t *n);
/* The label that was kept as the i-th. False: there are not so many. */
bool origins_label_at(uint32_t i, uint32_t *number, const char **text, size_t *n);

#endif
