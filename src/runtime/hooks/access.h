/*
 * A plain access of the program: from a hook or an interceptor to the tool.
 *
 * While no other thread exists, an access cannot conflict with anything: the creation
 * and the join of a thread order it with all that the thread does, and each of them ends
 * every open block. So a hook asks the mode (thread/mode.h) first, and the mode chooses
 * the fast path.
 *
 * Included by: hooks/, intercept/, inline/.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_ACCESS_H
#define ATOMSAN_RUNTIME_HOOKS_ACCESS_H

#include "runtime/doublechecker/icd.h"
#include "runtime/frontier/access.h"
#include "runtime/hooks/hook_list.h"
#include "runtime/thread/mode.h"

/* An access that no fast path knew. */
void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
/*
 * The same by size, with access_note_simple() first. These are not part of the hooks, which would
 * have to save registers before they know whether they need them.
 */
#define ACCESS_SLOW(name, bytes)                                                                   \
	void access_read##bytes(const void *address, uintptr_t pc);                                \
	void access_write##bytes(const void *address, uintptr_t pc);
HOOK_SIZES(ACCESS_SLOW, )

/* Is nothing to be done? */
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
