/*
 * Signals: a handler must not run while its thread is in the runtime, where it
 * would meet our locks held and our tables half changed. So the handlers that the
 * program installs are called by ours, which puts a signal off until the
 * thread has left the runtime: a few instructions later. A signal that an
 * instruction caused (a bad address) cannot wait: the thread leaves the runtime
 * at once, and does not come back to where it was in there. The C library's signal that cancels a
 * thread at any moment waits, too.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_SIGNALS_H
#define ATOMSAN_RUNTIME_THREAD_SIGNALS_H

#include "runtime/thread/state.h"

void signals_thread_gone(struct rt_thread *t);

/* Those that waited are the parent's. */
void signals_child(struct rt_thread *t);

#endif
