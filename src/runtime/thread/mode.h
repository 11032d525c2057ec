/*
 * The mode: what the hooks do with plain accesses of memory right now.
 *
 * Accesses matter only while several threads exist and a tool wants them. So the
 * mode is chosen anew whenever one of these changes: a thread is created or
 * joined, a tool becomes interested or loses interest, or checking stops.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_MODE_H
#define ATOMSAN_RUNTIME_THREAD_MODE_H

#include "runtime/tool.h"

/* Number of threads that were created and not joined yet. */
extern volatile uint32_t rt_threads_out;
void mode_thread_created(void);
void mode_thread_joined(void);

/* Choose the mode again, because the answer of a tool's wants() has changed. */
void mode_choose(void);

/*
 * While no thread has a block open, nothing that the program does can matter to a check. Threads
 * say when they open a block for the first time, and take it back when they wait.
 */
void mode_activate(struct rt_thread *t);
void mode_rest(struct rt_thread *t);
extern uint32_t mode_nactive;
static inline bool mode_any_active(void)
{
	return __atomic_load_n(&mode_nactive, __ATOMIC_SEQ_CST);
}

/* Print one message, once, and check nothing from now on. */
void rt_stop_checking(const char *why);

/* In a forked child the calling thread is the only one. */
void mode_child(const struct rt_thread *t);

#endif
