/*
 * Repeats: accesses that have no unit in the histories, because they repeated others.
 *
 * Another thread took an edge from each of them, and the unit of that edge has the
 * access's word. The word says which memory was accessed, and when. A snapshot puts
 * the access at that time. A thread keeps the places of its last repeats (struct
 * rt_repeat); for an older repeat the function is used instead of the place.
 *
 * If a repeat is older than all that a snapshot has of its thread, its time does not
 * give its clock. But a thread that took an edge from it, or from a later step of the
 * same slot, has a larger clock, and that is a limit for the clock of the repeat.
 *
 * All functions are called with the histories held.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_REPEATS_H
#define ATOMSAN_RUNTIME_REPORT_REPEATS_H

#include "runtime/report/spans.h"

struct repeat {
	uint64_t word;
	uintptr_t address; /* of the cell; 0: not memory */
	uint64_t before;   /* its clock is below this */
	bool done;         /* it is in the snapshot, or is no access */
};

/*
 * Find the repeats: repeats_begin(), repeats_collect() for each history that is copied,
 * repeats_sort(), then repeats_drop_units() for each history again, to mark as done the repeats
 * that have a unit after all.
 */
void repeats_begin(void);
void repeats_collect(const struct history *h, struct span span);
void repeats_sort(void);
void repeats_drop_units(const struct history *h, struct span span);

/* Add the writes, or the reads, to the conflict set. */
void repeats_add_conflicts(bool writes);

/* The repeats of a slot, in the order of time: from repeats_first() to NULL. */
uint32_t repeats_first(uint32_t slot);
struct repeat *repeats_at(uint32_t i, uint32_t slot);
/* Returns the place of a repeat, or `function` if it is not known. */
uintptr_t repeats_place(const struct history *h, const struct repeat *r, uintptr_t function);

/* Does this access write? */
static inline bool repeats_op_writes(enum raw_op op)
{
	return op != RAW_READ && op != RAW_READ_RANGE;
}

#endif
