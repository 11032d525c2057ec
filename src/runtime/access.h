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

#include "runtime/check.h"
#include "runtime/record.h"
#include "runtime/rt.h"

/* All but the fast path. */
void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/*
 * Was this done in this stretch (check.h)? What follows from the arguments alone
 * is known to the compiler.
 */
static inline bool access_done(const struct rt_thread *t, bool write, uintptr_t address,
			       uint32_t size)
{
	uint64_t what = ((1ull << size) - 1) << (address & 7) | (write ? SHADOW_WRITE : 0), first;
	const struct shadow_cell *cell;

	if (size > 8 || (address & 7) + size > 8)
		return false;
	cell = shadow_find(SHADOW_DATA, address);
	if (RT_UNLIKELY(!cell))
		return false;
	first = __atomic_load_n(&cell->w[0], __ATOMIC_RELAXED);
	if (!((first - t->fast_limit) >> 48) && (first & what) == what &&
	    (!write || !__atomic_load_n(&cell->w[1], __ATOMIC_RELAXED)))
		return true;
	if (write)
		return false;
	first = __atomic_load_n(&cell->w[1], __ATOMIC_RELAXED);
	return !((first - t->fast_limit) >> 48) && (first & what) == what;
}

static inline void access_plain(enum raw_op op, const void *address, uint32_t size, uintptr_t pc)
{
	if (RT_UNLIKELY(!rt_threads_out) ||
	    RT_LIKELY(access_done(&rt_self, op != RAW_READ, (uintptr_t)address, size)))
		return;
	access_slow(op, (uintptr_t)address, size, pc);
}

static inline void access_range(enum raw_op op, const void *address, size_t size, uintptr_t pc)
{
	if (RT_LIKELY(rt_threads_out && size))
		access_slow(op, (uintptr_t)address, size, pc);
}

#endif
