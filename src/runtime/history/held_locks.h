/*
 * The locks that a thread holds, in no particular order. A lock that is acquired
 * again by its holder is counted.
 *
 * Included by: history.c, checker/.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_HELD_LOCKS_H
#define ATOMSAN_RUNTIME_HISTORY_HELD_LOCKS_H

#include "runtime/thread/state.h"

/* The entry of a lock, or NULL if the thread does not hold it. */
struct rt_held *held_find(struct rt_thread *t, uintptr_t address);
/*
 * The thread has acquired it. Returns false if it held it already. Without memory the lock is not
 * remembered, and its release will not be seen.
 */
bool held_add(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared);
/* Release it once. Returns true if the thread no longer holds it; `h` is invalid then. */
bool held_drop(struct rt_thread *t, struct rt_held *h);
/* The thread ends: give the memory back. */
void held_free(struct rt_thread *t);

#endif
