/*
 * A plain access of the program: from a hook or an interceptor to the tool.
 *
 * While a single thread exists, its accesses cannot conflict with anything: the
 * creation and the join of another thread order them with all that the other thread
 * does, and end every open block. So a hook looks at the mode (thread/mode.h) first,
 * which says whether there is something to do, and which fast path to take.
 *
 * Included by: hooks/, intercept/, inline/.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_ACCESS_H
#define ATOMSAN_RUNTIME_HOOKS_ACCESS_H

#include "runtime/doublechecker/icd.h"
#include "runtime/frontier/access.h"
#include "runtime/hooks/hook_list.h"
#include "runtime/thread/mode.h"

/* Handle an access that the fast path has not ended. */
void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
/*
 * The same by size, after access_note_simple(). These are functions of their own: if they were part
 * of the hooks, each hook would save registers that its fast path does not need.
 */
#define ACCESS_SLOW(name, bytes)                                                                   \
	void access_read##bytes(const void *address, uintptr_t pc);                                \
	void access_write##bytes(const void *address, uintptr_t pc);
HOOK_SIZES(ACCESS_SLOW, )

/* Does the fast path of the mode end the access? Then there is nothing to do. */
ACCESS_FAST bool access_known(enum raw_op op, const void *address, uint32_t size)
{
	uint32_t mode = rt_mode;

	if (RT_LIKELY(mode == RT_CHECKING))
		return access_is_recorded(op != RAW_READ, (uintptr_t)address, size);
	if (RT_LIKELY(mode == RT_NOTHING))
		return true;
	return mode == RT_OWNING && icd_known(op != RAW_READ, (uintptr_t)address, size);
}

ACCESS_FAST void access_plain(enum raw_op op, const void *address, uint32_t size, uintptr_t pc)
{
	if (!access_known(op, address, size))
		access_slow(op, (uintptr_t)address, size, pc);
}

static inline void access_range(enum raw_op op, const void *address, size_t size, uintptr_t pc)
{
	if (RT_LIKELY(rt_mode != RT_NOTHING && size))
		access_slow(op, (uintptr_t)address, size, pc);
}

#endif
