/*
 * What the two OpenMP libraries have in common: gcc's libgomp (openmp.c) and clang's libomp
 * (openmp_tool.c).
 *
 * A parallel region, its tasks and its barriers become events on objects. The objects are the first
 * bytes of some memory that exists as long as the region, its *team*:
 *
 *  - All threads of the region arrive at TEAM_BARRIER: when the region begins, at each of its
 *    barriers, and when it ends.
 *  - TEAM_MADE and TEAM_DONE are conditions. A thread that makes a task notifies the first, and the
 *    task waits for it when it begins. When the task ends, it notifies the second, for which the
 *    threads wait that wait for tasks. Prediction keeps the order of all waits and notifies of one
 *    condition. (Most are written as waits, which makes no difference to it.)
 *  - TEAM_TURNS and TEAM_ORDERED are the condition and the lock of `ordered`.
 *
 * A wait is also a cut. So a function that runs a parallel region, makes a task or waits for one is
 * not a block, like one that creates or joins threads. Bodies are no blocks either: they are called
 * as start functions are (blocks/calls.h).
 *
 * Included by: openmp.c, openmp_tool.c.
 */
#ifndef ATOMSAN_RUNTIME_INTERCEPT_OPENMP_H
#define ATOMSAN_RUNTIME_INTERCEPT_OPENMP_H

#include "runtime/blocks/calls.h"
#include "runtime/intercept/intercept.h"

/* libomp has accepted our tool: openmp.c leaves regions and tasks to it. */
extern bool openmp_has_tool;

/* Returns an object of the thread's parallel region, or of all that is outside of any. */
const void *openmp_object(const struct rt_thread *t, enum rt_team which);

/* The thread is about to run, or has run, a parallel region with this team. */
void openmp_begin_region(const char *team, uintptr_t pc);
void openmp_end_region(const char *team, uintptr_t pc);
/* The thread makes a task. */
void openmp_make_task(uintptr_t pc);
/* The thread is about to wait for tasks, or has waited for them. */
void openmp_await_tasks(uintptr_t pc);
/* The thread arrives at a barrier of its region; it goes on, and all tasks before are done. */
void openmp_arrive(uintptr_t pc);
void openmp_pass(uintptr_t pc);
/*
 * The thread, one of `threads`, begins its part of the region. `begun` counts these threads. If the
 * run is recorded, they wait for each other, as at a barrier: the reader finds out who was at a
 * barrier from the order of events, and would not see that all parts come after what was before the
 * region.
 */
void openmp_begin_part(uint32_t *begun, uint32_t threads, uintptr_t pc);
/* The thread's turn in `ordered` has come; it ends. */
void openmp_begin_ordered(uintptr_t pc);
void openmp_end_ordered(uintptr_t pc);

/* Note that an exclusive lock was acquired; is about to be released. */
static inline void openmp_acquired(const void *lock, uintptr_t pc)
{
	note_acquired(RAW_ACQUIRE, lock, RAW_MUTEX, pc);
}

static inline void openmp_releasing(const void *lock, uintptr_t pc)
{
	note_at(RAW_RELEASE, lock, RAW_MUTEX, note_time_releasing(lock), pc);
}

/* The original of a function that only one library has. */
#define ORIGINAL(name, library)                                                                    \
	({                                                                                         \
		static REAL_NAME struct real_name real_ = {#name, NULL, NULL};                     \
		void *fn_ = __atomic_load_n(&real_.fn, __ATOMIC_RELAXED);                          \
		if (RT_UNLIKELY(!fn_))                                                             \
			fn_ = real_find_in(&real_, library, RT_CALLER);                            \
		(__typeof__(&name))fn_;                                                            \
	})

#endif
