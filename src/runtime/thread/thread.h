/*
 * The beginning and the end of a thread, and its stack.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_THREAD_H
#define ATOMSAN_RUNTIME_THREAD_THREAD_H

#include "runtime/thread/state.h"
#include "runtime/tool.h"

/* The first thread begins; once. */
void thread_init(void);

/*
 * The calling thread begins, under that number, after the point of its creation. Its end is seen by
 * a destructor of thread-local data, which runs however the thread ends.
 */
void thread_begin(struct rt_thread *t, uint32_t id, struct rt_point birth);

#endif
