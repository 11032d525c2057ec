/*
 * Accesses of memory, by whatever way they become known.
 *
 * While no other thread is out there they cannot conflict with anything: what
 * happened before a thread's creation, or after its join, is ordered, and both
 * end every open block.
 *
 * The fast path asks one question: does the line of the shadow say that this
 * thread did this already, since the innermost function that is open began?
 * (check.h: it is at or behind `limit`.) It is part of each hook that gcc's
 * programs call, and of each access in what clang compiles (inline/hooks.c). A few
 * questions more come before anything is noted.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_FRONTIER_ACCESS_H
#define ATOMSAN_RUNTIME_FRONTIER_ACCESS_H

#include "runtime/history/history.h"
#include "runtime/shadow/owned_line.h"

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

/* access_done() for a cell. Where it writes, nobody else may have looked since. */
ACCESS_FAST bool access_done_in(const struct rt_thread *t, uint64_t limit, bool write,
				const struct shadow_cell *cell, uint64_t bytes)
{
	uint64_t what = bytes | (write ? SHADOW_WRITE : 0);
	uint64_t w0 = access_word(cell, 0), w1 = access_word(cell, 1);
	uint64_t m0 = access_missing(w0, limit, what), m1 = access_missing(w1, limit, what);

	if (m0 && m1)
		return false;
	return !write || ((!w0 || word_is_mine(t, w0)) && (!w1 || word_is_mine(t, w1)));
}

/*
 * Of a cell that has readers: has the thread kept a read of all these bytes for itself? Nobody has
 * written them since then, and whoever did before is known to be before it.
 */
static inline bool access_kept(const struct rt_thread *t, uint64_t readers, uintptr_t address,
			       uint64_t what)
{
	const struct rt_repeat *r = &t->shadow.repeat[address >> 3 & (RT_REPEATS - 1)];

	return r->kept == readers && !((r->address ^ address) & ~7ul) && (r->word & what) == what;
}

/*
 * Is the line this thread's, and did it do all of this in the innermost function? What reaches
 * behind the line is never done. The size is a constant where this is called.
 */
ACCESS_FAST bool access_done(bool write, uintptr_t address, uint32_t size)
{
	uintptr_t base = shadow_line_base(address);
	const volatile struct shadow_line *l = shadow_line_in(base, address);
	uint64_t bits;

	if (RT_UNLIKELY(!base))
		return false;
	bits = ~((write ? l->w : l->r) >> (address & 63)) & ((1ull << size) - 1);
	return !((l->head - rt_self.time.limit) >> (SHADOW_SLOT_SHIFT - 1) | bits);
}

/* access_done() for a line that is in cells, of what is in it as a whole. */
ACCESS_FAST bool access_done_in_cells(bool write, uintptr_t address, uint32_t size)
{
	const struct shadow_cell *cell = shadow_find(SHADOW_DATA, address);
	const struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(!cell))
		return false;
	if (size == 16)
		return !(address & 7) &&
		       access_done_in(t, t->time.limit, write, cell, SHADOW_BYTES) &&
		       access_done_in(t, t->time.limit, write, cell + 1, SHADOW_BYTES);
	return (address & 7) + size <= 8 &&
	       access_done_in(t, t->time.limit, write, cell, ((1ull << size) - 1) << (address & 7));
}

/*
 * What access_done() does not know may still be nothing to do: a thread to whom nothing matters,
 * and no trace of others; cells that know it; or a line that several read, and the thread has kept
 * that it did. This needs few registers: gcc's hooks ask it before they call anybody.
 */
ACCESS_FAST bool access_done_otherwise(bool write, uintptr_t address, uint32_t size)
{
	uint64_t bits = ((1ull << size) - 1) << (address & (LINE_SIZE - 1)), head;
	const volatile struct shadow_line *l = shadow_line_find(address);
	const struct rt_thread *t = &rt_self;
	const struct rt_read *e;

	if (RT_UNLIKELY(!l || rt_mode != RT_CHECKING ||
			(address & (LINE_SIZE - 1)) + size > LINE_SIZE))
		return false;
	head = l->head;
	if (t->shadow.outside)
		return !shadow_slot(head) || word_is_mine(t, head);
	if (head == LINE_IN_CELLS)
		return access_done_in_cells(write, address, size);
	if (write || !shadow_readers(head) || RT_UNLIKELY(!t->shadow.reads))
		return false;
	e = line_read(t->shadow.reads, address, 0);
	return e->kept == head && word_is_young(t, e->head) && !(bits & ~e->r);
}

/* What became of it: nothing is to be done; it was noted, but for the history; neither. */
enum access_outcome { ACCESS_KNOWN, ACCESS_NOTED, ACCESS_ELSEWHERE };

/* A line that several read: the thread keeps that it has, in the first place where it may. */
ACCESS_FAST enum access_outcome access_keep(struct rt_thread *t, uint64_t kept, uint64_t bits,
					    uintptr_t address, uintptr_t pc)
{
	struct rt_read *e = line_read(t->shadow.reads, address, 0);

	if (e->kept == kept && word_is_young(t, e->head)) {
		if (!(bits & ~e->r))
			return ACCESS_KNOWN;
		if (e->head < t->time.raised || !history_has_room(t, pc))
			return ACCESS_ELSEWHERE;
		__atomic_store_n(&e->r, e->r | bits, __ATOMIC_RELAXED);
		return ACCESS_NOTED;
	}
	if (e->head >= t->time.dead ||
	    (e->kept != kept && line_read(t->shadow.reads, address, 1)->kept == kept) ||
	    !history_has_room(t, pc))
		return ACCESS_ELSEWHERE;
	line_begin_read(e, kept, t->time.now, bits);
	return ACCESS_NOTED;
}

/*
 * The same, and most of what is left is simple: the first access of these bytes in a transaction,
 * in a line that is open to the thread, or that several read. It is noted. False: it is none of
 * these, and all questions are to be asked.
 */
ACCESS_FAST bool access_simple(enum raw_op op, uintptr_t address, uint32_t size, uintptr_t pc)
{
	uint64_t bits = ((1ull << size) - 1) << (address & (LINE_SIZE - 1)), head;
	enum access_outcome one = ACCESS_ELSEWHERE;
	struct rt_thread *t = &rt_self;
	struct shadow_line *l;

	if (RT_UNLIKELY(rt_mode != RT_CHECKING || (address & (LINE_SIZE - 1)) + size > LINE_SIZE))
		return false;
	l = shadow_line_find(address);
	if (RT_UNLIKELY(!l))
		return false;
	head = ((const volatile struct shadow_line *)l)->head;
	if (t->shadow.outside)
		return !shadow_slot(head) || word_is_mine(t, head);
	if (head == LINE_IN_CELLS)
		return access_done_in_cells(op != RAW_READ, address, size);
	if (RT_UNLIKELY(t->gate.quiet | t->ignoring || !t->slot))
		return false;
	/* From here on no handler comes between a question and what is done about it. */
	rt_begin(t);
	head = __atomic_load_n(&l->head, __ATOMIC_RELAXED);
	if (word_is_young(t, head)) {
		if (head >= t->time.raised && history_has_room(t, pc)) {
			__atomic_store_n(&l->r, l->r | bits, __ATOMIC_RELAXED);
			if (op != RAW_READ)
				__atomic_store_n(&l->w, l->w | bits, __ATOMIC_RELAXED);
			one = ACCESS_NOTED;
		}
	} else if (op == RAW_READ && shadow_readers(head) && !(head & LINE_BUSY)) {
		one = access_keep(t, head, bits, address, pc);
	}
	RT_COMPILER_BARRIER();
	if (one == ACCESS_NOTED) {
		if (RT_LIKELY(__atomic_load_n(&l->head, __ATOMIC_RELAXED) == head))
			history_put_here(t, op, address, size, pc);
		else
			one = ACCESS_ELSEWHERE;
	}
	/* Signals that came meanwhile are delivered by access_slow(). */
	return !rt_end(t) && one != ACCESS_ELSEWHERE;
}

#endif
