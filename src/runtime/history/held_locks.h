/*
 * The locks that a thread holds, in no particular order. Each lock has one entry,
 * which counts how often the thread has acquired it and not released it yet.
 *
 * Included by: checker/.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_HELD_LOCKS_H
#define ATOMSAN_RUNTIME_HISTORY_HELD_LOCKS_H

#include "runtime/thread/state.h"

/* Find the entry of a lock. Returns NULL if the thread does not hold the lock. */
struct rt_held *held_find(struct rt_thread *t, uintptr_t address);
/*
 * Note that the thread has acquired a lock. Returns false if the thread held it already. If there
 * is no memory, the lock is not remembered, and its release will be ignored.
 */
bool held_add(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared, uintptr_t pc);
/* Release a lock once. Returns true if the thread no longer holds it; then `h` is invalid. */
bool held_drop(struct rt_thread *t, struct rt_held *h);
/* Free the table of a thread that ends. */
void held_free(struct rt_thread *t);

#endif
