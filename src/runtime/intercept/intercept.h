/*
 * What interceptors have in common: each does what the real function does, and
 * notes it where it worked. The order counts: a release is noted (its time is
 * taken) before it happens, an acquire after.
 *
 * Who may include this: the runtime's interceptors.
 */
#ifndef ATOMSAN_RUNTIME_INTERCEPT_INTERCEPT_H
#define ATOMSAN_RUNTIME_INTERCEPT_INTERCEPT_H

#include <errno.h>

#include "runtime/frontier/access.h"
#include "runtime/predict/predict.h"
#include "runtime/os/real.h"

/* Where the program called what this function does for it: see intercept_std.c. */
#define PROGRAM_CALLER (RT_UNLIKELY(rt_self.std_caller) ? rt_self.std_caller : RT_CALLER)

static inline void note_at(enum raw_op op, const void *object, uint32_t aux, uint64_t time,
			   uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->at_lock) || !rt_enter(t))
		return;
	check_note(t, op, (uintptr_t)object, aux, &time, pc);
	record_at(t, op, (uintptr_t)object, aux, time, pc);
	if (RT_UNLIKELY(predict_on))
		predict_note(t, op, (uintptr_t)object, aux, time, pc);
	rt_leave(t);
}

/*
 * Before a lock is given back, since whoever gets it next must see that it was; what can
 * fail is recorded when it has not.
 */
static inline void note_releasing(enum raw_op op, const void *lock, enum raw_lock kind,
				  uint64_t *time, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->at_lock) || !rt_enter(t))
		return;
	check_note(t, op, (uintptr_t)lock, kind, time, pc);
	rt_leave(t);
}

static inline void note_released(enum raw_op op, const void *lock, enum raw_lock kind,
				 uint64_t time, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (!record_timed || t->at_lock || !rt_enter(t))
		return;
	record_at(t, op, (uintptr_t)lock, kind, time, pc);
	if (RT_UNLIKELY(predict_on))
		predict_note(t, op, (uintptr_t)lock, kind, time, pc);
	rt_leave(t);
}

static inline void note(enum raw_op op, const void *object, uint32_t aux, uintptr_t pc)
{
	note_at(op, object, aux, record_timed ? record_now_ordered() : 0, pc);
}

/* After it happened. */
static inline void note_acquired(enum raw_op op, const void *lock, enum raw_lock kind, uintptr_t pc)
{
	note_at(op, lock, kind, record_time_acquired(lock), pc);
}

#endif
