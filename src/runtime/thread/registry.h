/*
 * The registry of threads: it gives each thread a number, and maps the program's
 * handles (pthread_t) to these numbers.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_REGISTRY_H
#define ATOMSAN_RUNTIME_THREAD_REGISTRY_H

#include <pthread.h>

#include "runtime/tool.h"

/* Returns a number that no thread has had. */
uint32_t registry_new_number(void);
/* Returns how many numbers were given out. */
uint32_t registry_count(void);

enum { REGISTRY_UNKNOWN = UINT32_MAX };
/*
 * Map the handle to the number, until registry_remove(). The creating thread and the new one both
 * call this, in any order; an older thread that had the handle is replaced.
 */
void registry_add(pthread_t handle, uint32_t id);
/* Returns the number of the thread, or REGISTRY_UNKNOWN. */
uint32_t registry_find(pthread_t handle);
/*
 * The calling thread, number `id`, ends: keep its last point for the thread that joins it. Called
 * between rt_enter() and rt_leave().
 */
void registry_set_last(uint32_t id, struct rt_point last);
/*
 * Thread `id` was joined or detached: forget the handle, unless another thread has got it
 * meanwhile. Returns the thread's last point.
 */
struct rt_point registry_remove(pthread_t handle, uint32_t id);

/*
 * In a forked child: forget all handles but the calling thread's, and free the lock, whichever
 * thread of the parent held it. The parent's other threads do not exist here: if the child joins
 * one of them, that is no join.
 */
void registry_child(void);
/* In a forked child whose thread begins again as number 0: the next number is 1. */
void registry_child_restart(void);

#endif
