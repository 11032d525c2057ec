/*
 * The fast tiers of a plain access (docs/architecture.md has the table of all).
 *
 * Already recorded. One question: does the line of the shadow say that this thread
 * did this already, since the innermost open function began? (shadow/time.h: its
 * time is `limit` or later.) The question is part of each hook that gcc's programs
 * call, and of each access that clang compiles (inline/hooks.c).
 *
 * Unlocked, the line is mine. A few questions more, and the access is recorded in a
 * line that the thread owns, or in its own entry for a read-shared line. access.c has
 * the rest of this tier.
 *
 * Included by: frontier/, hooks/, inline/.
 */
#ifndef ATOMSAN_RUNTIME_FRONTIER_ACCESS_H
#define ATOMSAN_RUNTIME_FRONTIER_ACCESS_H

#include "runtime/history/history.h"
#include "runtime/shadow/owned_line.h"

#define ACCESS_FAST static inline __attribute__((always_inline))

/* Volatile and not atomic: clang's instrumentation would take atomic loads for the program's. */
ACCESS_FAST uint64_t access_word(const struct shadow_cell *cell, int i)
{
	return *(const volatile uint64_t *)&cell->w[i];
}

/*
 * 0: the word says that the thread did all of this in the innermost function. A number instead of
 * a condition: which word of a cell is the thread's differs from cell to cell, and the processor
 * could not predict such a branch.
 */
ACCESS_FAST uint64_t access_missing(uint64_t word, uint64_t limit, uint64_t what)
{
	return (word - limit) >> (SHADOW_SLOT_SHIFT - 1) | (~word & what);
}

/* access_is_recorded() for a cell. A write counts only if no other thread has accessed it since. */
ACCESS_FAST bool access_is_in_cell(const struct rt_thread *t, uint64_t limit, bool write,
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
 * Has the thread kept a read of all these bytes of a read-shared cell for itself? Then no thread
 * has written them since, and all earlier writes are ordered before that read.
 */
static inline bool access_is_in_entry(const struct rt_thread *t, uint64_t readers,
				      uintptr_t address, uint64_t what)
{
	const struct rt_repeat *r = &t->shadow.repeat[address >> 3 & (RT_REPEATS - 1)];

	return r->in_cell == readers && !((r->address ^ address) & ~7ul) &&
	       (r->word & what) == what;
}

/*
 * Is the line this thread's, and did it do all of this in the innermost function? False if the
 * access reaches beyond the line. The size is a constant in each caller.
 */
ACCESS_FAST bool access_is_recorded(bool write, uintptr_t address, uint32_t size)
{
	uintptr_t base = shadow_line_base(address);
	const volatile struct shadow_line *l = shadow_line_in(base, address);
	uint64_t bits;

	if (RT_UNLIKELY(!base))
		return false;
	bits = ~((write ? l->w : l->r) >> (address & 63)) & ((1ull << size) - 1);
	return !((l->head - rt_self.time.limit) >> (SHADOW_SLOT_SHIFT - 1) | bits);
}

/* access_is_recorded() for a line in cells. False if the access is not aligned to cells. */
ACCESS_FAST bool access_is_in_cells(bool write, uintptr_t address, uint32_t size)
{
	const struct shadow_cell *cell = shadow_find(SHADOW_DATA, address);
	const struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(!cell))
		return false;
	if (size == 16)
		return !(address & 7) &&
		       access_is_in_cell(t, t->time.limit, write, cell, SHADOW_BYTES) &&
		       access_is_in_cell(t, t->time.limit, write, cell + 1, SHADOW_BYTES);
	return (address & 7) + size <= 8 &&
	       access_is_in_cell(t, t->time.limit, write, cell,
				 ((1ull << size) - 1) << (address & 7));
}

/*
 * Is there nothing to do although access_is_recorded() is false? True in three cases: the thread's
 * accesses need no words (shadow.outside) and the line is unused or the thread's own; the line is
 * in cells, and they hold the access; the line is read-shared, and the thread has kept this read.
 * This needs few registers, so gcc's hooks ask it before they call a function.
 */
ACCESS_FAST bool access_needs_nothing(bool write, uintptr_t address, uint32_t size)
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
		return line_is_unused(head) || word_is_mine(t, head);
	if (line_is_in_cells(head))
		return access_is_in_cells(write, address, size);
	if (write || !shadow_readers(head) || RT_UNLIKELY(!t->shadow.reads))
		return false;
	e = line_read_entry(t->shadow.reads, address, 0);
	return e->shared_head == head && word_is_young(t, e->head) && !(bits & ~e->r);
}

/* The result: nothing is to be done; recorded, except in the history; neither. */
enum access_outcome { ACCESS_KNOWN, ACCESS_NOTED, ACCESS_ELSEWHERE };

/* Record a read of the read-shared line with this head, in the first of the two entries. */
ACCESS_FAST enum access_outcome access_note_shared_read(struct rt_thread *t, uint64_t shared_head,
							uint64_t bits, uintptr_t address,
							uintptr_t pc)
{
	struct rt_read *e = line_read_entry(t->shadow.reads, address, 0);

	if (e->shared_head == shared_head && word_is_young(t, e->head)) {
		if (!(bits & ~e->r))
			return ACCESS_KNOWN;
		if (e->head < t->time.raised || !history_has_room(t, pc))
			return ACCESS_ELSEWHERE;
		__atomic_store_n(&e->r, e->r | bits, __ATOMIC_RELAXED);
		return ACCESS_NOTED;
	}
	if (e->head >= t->time.dead ||
	    (e->shared_head != shared_head &&
	     line_read_entry(t->shadow.reads, address, 1)->shared_head == shared_head) ||
	    !history_has_room(t, pc))
		return ACCESS_ELSEWHERE;
	line_begin_read_entry(e, shared_head, t->time.now, bits);
	return ACCESS_NOTED;
}

/*
 * access_needs_nothing(), and the simple cases of the unlocked tier: the innermost open function
 * accesses these bytes for the first time, in a line that the thread owns or that is read-shared.
 * Returns false if it is none of these, or if signals came meanwhile: then the caller calls
 * access_slow(), also for an access that was just recorded.
 */
ACCESS_FAST bool access_note_simple(enum raw_op op, uintptr_t address, uint32_t size, uintptr_t pc)
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
		return line_is_unused(head) || word_is_mine(t, head);
	if (line_is_in_cells(head))
		return access_is_in_cells(op != RAW_READ, address, size);
	if (RT_UNLIKELY(t->gate.quiet | t->ignoring || !t->slot))
		return false;
	/* From here on no signal handler runs between the question and the stores. */
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
		one = access_note_shared_read(t, head, bits, address, pc);
	}
	RT_COMPILER_BARRIER();
	if (one == ACCESS_NOTED) {
		if (RT_LIKELY(__atomic_load_n(&l->head, __ATOMIC_RELAXED) == head)) {
			RT_ASSERT(!word_is_mine(t, head) || !(l->w & ~l->r));
			history_put_here(t, op, address, size, pc);
		} else {
			one = ACCESS_ELSEWHERE;
		}
	}
	/* Signals that came meanwhile are delivered by access_slow(). */
	return !rt_end(t) && one != ACCESS_ELSEWHERE;
}

#endif
