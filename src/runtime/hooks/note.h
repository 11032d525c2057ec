/*
 * From a hook or an interceptor to the tools: synchronisation. The order counts: a
 * release is noted (its time is taken) before it happens, an acquire after.
 *
 * Included by: hooks/, intercept/.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_NOTE_H
#define ATOMSAN_RUNTIME_HOOKS_NOTE_H

#include "runtime/os/clock.h"
#include "runtime/thread/state.h"
#include "runtime/tool.h"

/*
 * The times of operations on one lock are in the order in which the operations happened, even if
 * the clocks of two processors disagree: the last time of a release is remembered, in a table by a
 * hash of the lock. 0 if no tool wants to know.
 */
uint64_t note_time_acquired(const void *lock);
uint64_t note_time_releasing(const void *lock);

/* An operation that happened at `time`. */
static inline void note_at(enum raw_op op, const void *object, uint32_t aux, uint64_t time,
			   uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->at_lock) || !rt_enter(t))
		return;
	rt_tool->sync(t, op, (uintptr_t)object, aux, &time, pc);
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->sync(t, op, (uintptr_t)object, aux, &time, pc);
	rt_leave(t);
}

/* One that has just happened. */
static inline void note(enum raw_op op, const void *object, uint32_t aux, uintptr_t pc)
{
	note_at(op, object, aux, rt_timed ? clock_now_ordered() : 0, pc);
}

/* After a lock was acquired. */
static inline void note_acquired(enum raw_op op, const void *lock, enum raw_lock kind, uintptr_t pc)
{
	note_at(op, lock, kind, note_time_acquired(lock), pc);
}

/*
 * Before a lock is released, since its next owner must find that noted; and after it was, if that
 * did not fail.
 */
static inline void note_releasing(enum raw_op op, const void *lock, enum raw_lock kind,
				  uint64_t *time, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->at_lock) || !rt_enter(t))
		return;
	rt_tool->releasing(t, op, (uintptr_t)lock, kind, time, pc);
	rt_leave(t);
}

static inline void note_released(enum raw_op op, const void *lock, enum raw_lock kind,
				 uint64_t time, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (!rt_timed || t->at_lock || !rt_enter(t))
		return;
	rt_tool->released(t, op, (uintptr_t)lock, kind, &time, pc);
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->released(t, op, (uintptr_t)lock, kind, &time, pc);
	rt_leave(t);
}

#endif
