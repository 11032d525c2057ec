/*
 * The beginning and the end of a thread, and where its stack is.
 *
 * Included by: thread/, schedule/threads.c, intercept/thread.c, start.c.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_THREAD_H
#define ATOMSAN_RUNTIME_THREAD_THREAD_H

#include "runtime/thread/state.h"
#include "runtime/tool.h"

/*
 * Called when a thread has ended, as the last thing that the runtime does in it. Set by
 * runtime/schedule; NULL: nothing is called.
 */
extern void (*thread_on_end)(void);

/* The first thread begins. Called once, at start-up. */
void thread_init(void);

/*
 * The calling thread begins, with number `id`; `birth` is the point of its creation. From now on a
 * destructor of thread-local data notes the thread's end, however the thread ends.
 */
void thread_begin(struct rt_thread *t, uint32_t id, struct rt_point birth);

#endif
