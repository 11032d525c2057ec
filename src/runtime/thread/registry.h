/*
 * The registry of threads: numbers, and which handle of the program stands for
 * which thread.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_REGISTRY_H
#define ATOMSAN_RUNTIME_THREAD_REGISTRY_H

#include <pthread.h>

#include "runtime/tool.h"

/* A number that no thread has had. */
uint32_t registry_new_number(void);
/* How many numbers were given out. */
uint32_t registry_count(void);

/* A handle is known from the thread's creation to its join. */
enum { REGISTRY_UNKNOWN = UINT32_MAX };
void registry_add(pthread_t handle, uint32_t id);
/* The number of the thread, or REGISTRY_UNKNOWN. */
uint32_t registry_find(pthread_t handle);
/* The calling thread ends: remember its last point for a join. */
void registry_set_last(uint32_t id, struct rt_point last);
/* Remove the thread, unless another one has got the handle meanwhile. Returns its last point. */
struct rt_point registry_remove(pthread_t handle, uint32_t id);

/* In a forked child: no other thread holds the lock; numbers begin again after the first. */
void registry_child(void);
void registry_child_restart(void);

#endif
