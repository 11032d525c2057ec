/*
 * Accesses outside of all blocks that could be part of a lost update: they are not
 * checked, and if nothing is found, a line says so. engine/outside.h says which
 * accesses count.
 *
 * Only the first accesses of the program are looked at, and only if a supervisor
 * will print the result. They take the slow way through the hooks meanwhile, in the
 * mode RT_ALL. What is not certain is not counted: accesses of two threads count as
 * concurrent if no thread came to a barrier between them, and neither a creation nor
 * a join orders them.
 *
 * Included by: checker/, frontier/.
 */
#ifndef ATOMSAN_RUNTIME_CHECKER_OUTSIDE_H
#define ATOMSAN_RUNTIME_CHECKER_OUTSIDE_H

#include "runtime/thread/state.h"
#include "trace/raw_format.h"

/* How many more accesses are looked at. */
extern uint32_t outside_left;

/* Call this at start-up, if the accesses are wanted. */
void outside_init(void);

/* A plain access, outside rt_enter() and rt_leave(). Counts down outside_left. */
void outside_access(enum raw_op op, uintptr_t address, uintptr_t pc);
/* The thread has acquired a lock that it did not hold. */
void outside_acquired(struct rt_thread *t, uintptr_t pc);
/* The thread waits, joins, creates a thread or passes a barrier: its region ends. */
void outside_cut(struct rt_thread *t);
void outside_created(const struct rt_thread *t, uint32_t id);
void outside_joined(const struct rt_thread *t, uint32_t id);
void outside_barrier(void);
void outside_thread_end(struct rt_thread *t);
/* In a forked child: forget what the parent's threads did. */
void outside_child(void);

/* Send what was found to the reporter. Called once, at the end. */
void outside_send(void);

#endif
