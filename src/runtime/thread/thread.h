/*
 * Threads: their numbers, their stacks, their beginning and end.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_THREAD_H
#define ATOMSAN_RUNTIME_THREAD_THREAD_H

#include <pthread.h>

#include "runtime/frontier/check.h"
#include "runtime/os/rt.h"

/* The first thread; once. */
void thread_init(void);

/* In a forked child, forget what other threads were about to do. */
void intercept_thread_init(void);

/* How many there have been. */
uint32_t thread_count(void);

/* A number for a thread that is about to be created. */
uint32_t thread_number(void);
/* It was not, after all, or it was joined: one less is out. */
void thread_not_out(void);

/* The calling thread begins, under that number, behind the step of its creation (check.h). */
void thread_begin(struct rt_thread *t, uint32_t id, struct check_point birth);

/* Which thread is this? Known from its creation to its join. */
enum { THREAD_UNKNOWN = UINT32_MAX };
void thread_enlist(pthread_t handle, uint32_t id);
uint32_t thread_find(pthread_t handle);
/* Unless another has got the handle in the meantime. Returns its last step. */
struct check_point thread_forget(pthread_t handle, uint32_t id);

/* Is this our own function, which called the one that the thread starts with? */
bool thread_is_start(uintptr_t pc);

/* In a forked child: the calling thread is the only one. */
void thread_child(struct rt_thread *t);
/* The same: labels are not in the file that begins. */
void annotate_child(void);

/* Its first function is left, and with it all others, with notice or without. */
void thread_left(struct rt_thread *t);

#endif
