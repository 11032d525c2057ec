/*
 * Mutexes that the program uses wrongly: a thread unlocks one that it does not hold, or
 * ends while it holds one. Such an unlock is not taken for a release; the reporter gets
 * a message, and prints it as a warning.
 *
 * Only what the C library's own fields confirm is reported, because a mutex may have been
 * locked where the runtime did not see it.
 *
 * Included by: checker/, frontier/, doublechecker/, intercept/.
 */
#ifndef ATOMSAN_RUNTIME_CHECKER_LOCK_USE_H
#define ATOMSAN_RUNTIME_CHECKER_LOCK_USE_H

#include <pthread.h>

#include "runtime/thread/state.h"

/*
 * The thread, outside of the runtime, has unlocked a mutex that it did not hold, as far as the
 * checker knows (t->locks.strange). `owner` is the number of the thread that held it before, for
 * the system, and 0 if none did.
 */
void lock_use_strange(struct rt_thread *t, const pthread_mutex_t *m, int owner, uintptr_t pc);
/* The thread ends, or with `program` the program: report the mutexes that the thread holds. */
void lock_use_end(const struct rt_thread *t, bool program);

#endif
