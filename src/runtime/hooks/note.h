/*
 * Synchronisation: hooks and interceptors call these functions, and the events go
 * to the tools. A release is noted, and its time is taken, before it happens; an
 * acquire after it has happened.
 *
 * Included by: hooks/, intercept/.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_NOTE_H
#define ATOMSAN_RUNTIME_HOOKS_NOTE_H

#include "runtime/os/clock.h"
#include "runtime/thread/state.h"
#include "runtime/tool.h"

/*
 * Return the time of an operation on a lock, or 0 if no tool needs it. The times of operations on
 * one lock are in the order in which the operations happened, even if the clocks of two processors
 * disagree: a table, indexed by a hash of the lock, keeps the time of the last release.
 */
uint64_t note_time_acquired(const void *lock);
uint64_t note_time_releasing(const void *lock);

/* Note an operation that happened at `time`. */
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

/* Note an operation that has just happened. */
static inline void note(enum raw_op op, const void *object, uint32_t aux, uintptr_t pc)
{
	note_at(op, object, aux, rt_timed ? machine_clock_ordered() : 0, pc);
}

/* Note that a lock was acquired. */
static inline void note_acquired(enum raw_op op, const void *lock, enum raw_lock kind, uintptr_t pc)
{
	note_at(op, lock, kind, note_time_acquired(lock), pc);
}

/*
 * Note a release that can fail: before it happens, because the lock's next owner must find it
 * noted, and after it has succeeded.
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
