/*
 * frontier while the program runs: the default tool. Is what happened so far
 * serializable? The verdict is Velodrome's, at the access that makes it false.
 *
 * The shadow remembers the last accesses of memory (shadow/cell.h,
 * shadow/owned_line.h). An access that conflicts with what another thread did takes
 * an edge into the order of transactions (engine/precise/order.h), and an edge that
 * would close a cycle is a finding. Locks have cells of their own; creation and join
 * of threads are edges.
 *
 * Included by: the runtime's start-up code, hooks/.
 */
#ifndef ATOMSAN_RUNTIME_FRONTIER_FRONTIER_H
#define ATOMSAN_RUNTIME_FRONTIER_FRONTIER_H

#include "runtime/shadow/locked.h"

/* Become the tool, if there is room for it. */
void frontier_init(void);

/* An access in RT_CHECKING mode that the fast path did not know: see access.h. */
void frontier_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/* An access in another mode, which is the recorder's: it is judged, stamped and passed on to it. */
void frontier_access_serial(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/* --- between the files of this folder --- */

/* Take an edge from a word into what the thread is doing: cell_edge() of shadow/cell.h. */
bool frontier_edge(struct rt_thread *t, uint64_t word, bool *fresh);

/* Report the cycle that the thread's last operation closed, if it did. No lock is held. */
void frontier_report_now(struct rt_thread *t);
static inline void frontier_report(struct rt_thread *t)
{
	if (RT_UNLIKELY(t->shadow.closed))
		frontier_report_now(t);
}

#endif
