/*
 * The memory that has conflicts: one thread writes it, and another thread accesses it.
 *
 * A report needs no other accesses, since no cycle can pass through them. Most of what
 * a thread does is left out of a report for that reason: work on its own memory, and
 * reads of memory that all threads only read.
 *
 * The set is a table of hashes. It may contain memory that has no conflict, but it
 * never lacks memory that has one.
 *
 * Used with the histories held, so by one thread at a time.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_CONFLICT_SET_H
#define ATOMSAN_RUNTIME_REPORT_CONFLICT_SET_H

#include <stdbool.h>
#include <stdint.h>

/* Start with an empty set. If there is no memory for the table, the set contains everything. */
void conflict_set_begin(void);
void conflict_set_end(void);

/* Add accesses: first all writes, then all reads. A read of memory without a write is ignored. */
void conflict_set_add_write(uint32_t slot, uint64_t address, uint64_t size);
void conflict_set_add_read(uint32_t slot, uint64_t address, uint64_t size);
/* Put a lock into the set, whichever threads use it. */
void conflict_set_add_lock(uint64_t address);

/* Is a part of this memory in the set? Asked after everything was added. */
bool conflict_set_has(uint64_t address, uint64_t size);

#endif
