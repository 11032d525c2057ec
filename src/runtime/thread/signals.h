/*
 * Signals. A handler must not run while its thread is in the runtime: it would
 * find our locks held and our tables half changed. So our own handler is installed
 * in place of the program's. It calls the program's handler at once if the thread
 * is outside the runtime, and otherwise delays the signal until rt_leave(), a few
 * instructions later.
 *
 *  - A signal that an instruction caused (a bad address) cannot be delayed: the
 *    thread leaves the runtime at once, and enters it again if the handler returns.
 *  - The signal with which the C library cancels a thread at any moment is delayed,
 *    too.
 *
 * Included by: thread/, intercept/thread.c.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_SIGNALS_H
#define ATOMSAN_RUNTIME_THREAD_SIGNALS_H

#include "runtime/thread/state.h"

/* The calling thread has ended: free its delayed signals. */
void signals_thread_gone(struct rt_thread *t);

/* In a forked child: drop the delayed signals, which the parent delivers. */
void signals_child(struct rt_thread *t);

#endif
