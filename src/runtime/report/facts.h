/*
 * The facts of a FINDING: sections with what happened before the recording begins, so that
 * the reporter cannot learn it from the recording (trace/live_format.h).
 *
 * All functions are called with the histories held.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_FACTS_H
#define ATOMSAN_RUNTIME_REPORT_FACTS_H

#include "runtime/history/history.h"
#include "runtime/report/cycle.h"
#include "runtime/report/part.h"
#include "trace/live_format.h"

/* Write the head of a section. Returns where it begins, for facts_close(). */
size_t facts_open(struct snapshot_part *facts, enum live_section_kind kind);
void facts_close(struct snapshot_part *facts, size_t section);

/* Write a thread, in the section of threads. `h` is NULL if its history was not copied. */
void facts_put_thread(struct snapshot_part *facts, uint32_t number, const struct history *h,
		      bool left_start);

/*
 * Choose the allocations to write: those with a step, a lock or memory that has conflicts. A
 * program may have many more. If `steps` is NULL, all are written. Called while the conflict set is
 * there.
 */
void facts_choose_allocations(const struct cycle *c, const struct live_step *steps);

/*
 * Write the sections that belong to no thread: modules, labels, the functions that were no blocks
 * before the clock `from`, the creations of threads, and the chosen allocations. `copied_fork` says
 * of each entry of the creations (history/origins.h) whether the recording has it.
 */
void facts_put_process(struct snapshot_part *facts, uint64_t from, const bool *copied_fork);

#endif
