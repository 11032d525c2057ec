/*
 * Accesses of memory, by whatever way they become known.
 *
 * While no other thread is out there they cannot conflict with anything: what
 * happened before a thread's creation, or after its join, is ordered, and both
 * end every open block.
 *
 * The fast path asks one question: do the words of the shadow say that this
 * thread did this already, since the innermost function that is open began?
 * (check.h: a word at or behind `limit`.) It is part of each hook that gcc's
 * programs call, and of each access in what clang compiles (inline/hooks.c).
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_ACCESS_H
#define ATOMSAN_RUNTIME_ACCESS_H

#include "runtime/check.h"
#include "runtime/hook_list.h"
#include "runtime/icd.h"
#include "runtime/record.h"
#include "runtime/rt.h"

/* All but the fast path. */
void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
/* The same, by size. Not part of the hooks: these would have to save registers before they know. */
#define ACCESS_SLOW(name, bytes)                                                                   \
	void access_read##bytes(const void *address, uintptr_t pc);                                \
	void access_write##bytes(const void *address, uintptr_t pc);
HOOK_SIZES(ACCESS_SLOW, )

#define ACCESS_FAST static inline __attribute__((always_inline))

/* Volatile, and not atomic: clang's instrumentation would take these for the program's. */
ACCESS_FAST uint64_t access_word(const struct shadow_cell *cell, int i)
{
	return *(const volatile uint64_t *)&cell->w[i];
}

/*
 * 0: the thread did all of this in the innermost function. A number, for arithmetic: which of the
 * words is whose differs from cell to cell, and nobody could predict such a branch.
 */
ACCESS_FAST uint64_t access_missing(uint64_t word, uint64_t limit, uint64_t what)
{
	return (word - limit) >> (SHADOW_SLOT_SHIFT - 1) | (~word & what);
}

/* Is it another's, and may this conflict with it, or is it a list? */
ACCESS_FAST bool access_foreign(uint64_t word, uint64_t self, uint64_t what)
{
	if (!word || !((word ^ self) >> SHADOW_SLOT_SHIFT))
		return false;
	return (word | what) & SHADOW_WRITE || word >> SHADOW_SLOT_SHIFT == SHADOW_LIST;
}

ACCESS_FAST bool access_done_in(const struct rt_thread *t, const struct shadow_cell *cell,
				uint64_t what)
{
	uint64_t w0 = access_word(cell, 0), w1 = access_word(cell, 1), limit = t->limit;
	bool done;

	if (!(w0 | w1))
		return t->outside;
	done = access_missing(w0, limit, what) * access_missing(w1, limit, what) == 0;
	if (done && !(what & SHADOW_WRITE))
		return true;
	/* Where it writes, nobody else may have looked since. */
	return (done || t->outside) && !access_foreign(w0, t->self, what) &&
	       !access_foreign(w1, t->self, what);
}

/*
 * Of a cell that has readers: has the thread kept a read of all these bytes for itself? Nobody has
 * written them since then, and whoever did before is known to be before it.
 */
static inline bool access_kept(const struct rt_thread *t, uint64_t readers, uintptr_t address,
			       uint64_t what)
{
	const struct rt_repeat *r = &t->repeat[address >> 3 & (RT_REPEATS - 1)];

	return r->kept == readers && !((r->address ^ address) & ~7ul) && (r->word & what) == what;
}

/* The size is a constant where this is called. */
ACCESS_FAST bool access_done(bool write, uintptr_t address, uint32_t size)
{
	uint64_t what = size >= 8 ? SHADOW_BYTES : ((1ull << size) - 1) << (address & 7);
	const struct rt_thread *t = &rt_self;
	uintptr_t base = shadow_base(SHADOW_DATA, address);
	const struct shadow_cell *cell = shadow_in(base, address);

	what |= write ? SHADOW_WRITE : 0;
	if (RT_UNLIKELY(!base || (address & 7) + (size & 7) > 8 || (size >= 8 && address & 7)))
		return false;
	return access_done_in(t, cell, what) &&
	       (size < 16 || ((address + 8) & ((1ul << SHADOW_REGION) - 1) &&
			      access_done_in(t, cell + 1, what)));
}

/* Is nothing to be done? */
ACCESS_FAST bool access_known(enum raw_op op, const void *address, uint32_t size)
{
	uint32_t mode = rt_mode;

	if (RT_LIKELY(mode == RT_CHECKING))
		return access_done(op != RAW_READ, (uintptr_t)address, size);
	if (RT_LIKELY(mode == RT_OWNING))
		return icd_known(op != RAW_READ, (uintptr_t)address, size);
	return mode == RT_NOTHING;
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
