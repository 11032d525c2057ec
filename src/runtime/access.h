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
 * Does this word of the cell say that this was done in this stretch (check.h)? It is made young
 * where it is of the same kind; where it is not, and the other word is free, that is for
 * check_access.c.
 */
static inline bool access_done_by(struct rt_thread *t, struct shadow_cell *cell, int i,
				  uint64_t what, uintptr_t address, uintptr_t pc)
{
	uint64_t word = __atomic_load_n(&cell->w[i], __ATOMIC_RELAXED), other;

	if ((word - t->txn_limit) >> (SHADOW_SLOT_SHIFT - 1) || (word & what) != what)
		return false;
	if (!(what & SHADOW_WRITE) && word >= t->limit)
		return true;
	other = __atomic_load_n(&cell->w[!i], __ATOMIC_RELAXED);
	if (what & SHADOW_WRITE && other && !check_mine(t, other))
		return false;
	if (word >= t->limit)
		return true;
	if ((word ^ what) & (SHADOW_WRITE | SHADOW_BYTES)) {
		/* The thread's own other word may be the one; a third there is no room for. */
		if (!other || !((other ^ what) & (SHADOW_WRITE | SHADOW_BYTES)))
			return false;
		return true;
	}
	__atomic_store_n(&cell->w[i], t->now | what, __ATOMIC_RELAXED);
	t->repeat[address >> 3 & (RT_REPEATS - 1)] = (struct rt_repeat){t->now | what, address, pc};
	return true;
}

static inline bool access_done(struct rt_thread *t, bool write, uintptr_t address, uint32_t size,
			       uintptr_t pc)
{
	uint64_t what = ((1ull << size) - 1) << (address & 7) | (write ? SHADOW_WRITE : 0);
	struct shadow_cell *cell;

	if (size > 8 || (address & 7) + size > 8)
		return false;
	cell = shadow_find(SHADOW_DATA, address);
	if (RT_UNLIKELY(!cell))
		return false;
	return access_done_by(t, cell, 0, what, address, pc) ||
	       access_done_by(t, cell, 1, what, address, pc) ||
	       (t->outside && !(__atomic_load_n(&cell->w[0], __ATOMIC_RELAXED) |
				__atomic_load_n(&cell->w[1], __ATOMIC_RELAXED)));
}

static inline void access_plain(enum raw_op op, const void *address, uint32_t size, uintptr_t pc)
{
	if (RT_UNLIKELY(!rt_threads_out) ||
	    RT_LIKELY(access_done(&rt_self, op != RAW_READ, (uintptr_t)address, size, pc)))
		return;
	access_slow(op, (uintptr_t)address, size, pc);
}

static inline void access_range(enum raw_op op, const void *address, size_t size, uintptr_t pc)
{
	if (RT_LIKELY(rt_threads_out && size))
		access_slow(op, (uintptr_t)address, size, pc);
}

#endif
