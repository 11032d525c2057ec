/*
 * The default tool, frontier: is the run so far serializable? The verdict is
 * Velodrome's, and it comes at the operation that makes the run unserializable.
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

/* Become the tool. If there is no address space for it, print that instead. */
void frontier_init(void);

/* Check an access in RT_CHECKING mode that the fast path could not settle: see access.h. */
void frontier_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/* Check an access while the recorder runs, too, and pass it on to the recorder with its time. */
void frontier_access_serial(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/* --- between the files of this folder --- */

/* Take an edge from another thread's word to the thread's present operation: the cell_edge() of
 * shadow/cell.h. */
bool frontier_edge(struct rt_thread *t, uint64_t word, bool *fresh);

/*
 * Report the cycle that the thread's last operation, `op` at `pc`, closed, if there is one. No lock
 * is held.
 */
void frontier_report_now(struct rt_thread *t, enum raw_op op, uintptr_t pc);
static inline void frontier_report(struct rt_thread *t, enum raw_op op, uintptr_t pc)
{
	if (RT_UNLIKELY(t->shadow.closed))
		frontier_report_now(t, op, pc);
}

#endif
