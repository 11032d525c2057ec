/*
 * Accesses of memory, by whatever way they become known.
 *
 * While no other thread is out there they cannot conflict with anything: what
 * happened before a thread's creation, or after its join, is ordered, and both
 * end every open block.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_ACCESS_H
#define ATOMSAN_RUNTIME_ACCESS_H

#include "runtime/record.h"
#include "runtime/rt.h"

static inline void access_plain(enum raw_op op, const void *address, uint32_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(!rt_threads_out || t->ignoring) || !rt_enter(t))
		return;
	record(t, op, (uintptr_t)address, size, pc);
	rt_leave(t);
}

static inline void access_range(enum raw_op op, const void *address, size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(!rt_threads_out || t->ignoring || !size) || !rt_enter(t))
		return;
	record_sized(t, op, (uintptr_t)address, size, record_now(), pc);
	rt_leave(t);
}

#endif
