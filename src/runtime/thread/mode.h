/*
 * The mode: what the hooks do with plain accesses of memory right now.
 *
 * Accesses matter only while several threads exist and a tool wants them. So the
 * mode is chosen again when a thread is created or joined, when the answer of a
 * tool's wants() changes, and when checking stops.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_MODE_H
#define ATOMSAN_RUNTIME_THREAD_MODE_H

#include "runtime/tool.h"

/* Number of threads that were created and not joined yet. */
extern volatile uint32_t rt_unjoined_threads;
/* Count a thread, and choose the mode again. Called before the thread can run. */
void mode_thread_created(void);
void mode_thread_joined(void);

/* Choose the mode again: the answer of a tool's wants() may have changed. */
void mode_choose(void);

/*
 * While no thread has a block open, no access can be part of a finding. To find out cheaply, active
 * threads are counted: a thread becomes active when it opens a block, and stays active, even after
 * the block has ended, until it waits.
 */
void mode_activate(struct rt_thread *t);
void mode_rest(struct rt_thread *t);
extern uint32_t mode_nactive; /* number of active threads */
static inline bool mode_any_active(void)
{
	return __atomic_load_n(&mode_nactive, __ATOMIC_SEQ_CST);
}

/* Do threads take turns from now on (runtime/schedule)? */
void mode_set_driven(bool now);

/* Stop checking for good and print one message. Does nothing if checking has stopped already. */
void rt_stop_checking(const char *why);

/* In a forked child, where the calling thread is the only one: count threads anew. */
void mode_child(const struct rt_thread *t);

#endif
