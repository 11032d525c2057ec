/*
 * Accesses that the fast path did not know: most of them are the first of their kind in a
 * transaction, or in a function, and of bytes that nobody else has to do with at the time.
 * Those end here; the others go to check_access.c.
 */
#include "runtime/frontier/access.h"

#include "runtime/predict/predict.h"

/* What became of an access of one cell: noted, if it is the first of its kind in this stretch. */
enum outcome { NEEDS_LOCK, KNOWN, NOTED };

/* The entry is for this cell from now on. */
static inline void take_over(struct rt_thread *t, struct rt_repeat *r, uint64_t word, uint64_t kept,
			     uintptr_t address, uintptr_t pc)
{
	if (RT_UNLIKELY(r->kept) && r->kept != kept && r->word >= t->dead)
		check_tell(r);
	__atomic_store_n(&r->word, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->address, address, __ATOMIC_RELEASE);
	__atomic_store_n(&r->kept, kept, __ATOMIC_RELEASE);
	r->pc = pc;
	__atomic_store_n(&r->word, word, __ATOMIC_RELEASE);
}

/* A word that was of this thread and stretch is made young: this access did the same. */
static inline void make_young(struct rt_thread *t, struct shadow_cell *cell, int i, uint64_t word,
			      bool alone, uintptr_t address, uintptr_t pc)
{
	struct rt_repeat *r = &t->repeat[address >> 3 & (RT_REPEATS - 1)];
	uint64_t young = t->now | (word & (SHADOW_WRITE | SHADOW_BYTES));

	if (alone) {
		__atomic_store_n(&cell->w[i], young, __ATOMIC_RELAXED);
		if (!r->kept || r->word < t->dead)
			take_over(t, r, young, 0, address, pc);
	} else if (r->kept != word || (r->address ^ address) & ~7ul) {
		take_over(t, r, young, word, address, pc);
	} else if (r->word < t->limit) {
		r->pc = pc;
		__atomic_store_n(&r->word, young, __ATOMIC_RELEASE);
	}
}

/*
 * Of what has readers: the thread keeps it for itself. Two of different bytes become one only if
 * they are of one stretch and one clock, with the older age; see alike() in check_access.c.
 */
static inline enum outcome keep(struct rt_thread *t, uint64_t readers, uintptr_t address,
				uint64_t what, uintptr_t pc)
{
	struct rt_repeat *r = &t->repeat[address >> 3 & (RT_REPEATS - 1)];
	uint64_t word = t->now | what;

	if (r->kept != readers || (r->address ^ address) & ~7ul) {
		take_over(t, r, word, readers, address, pc);
		return NOTED;
	}
	if (check_this_stretch(t, r->word)) {
		if (r->word >= t->limit && (r->word & what) == what)
			return KNOWN;
		if (!((r->word ^ what) & SHADOW_BYTES)) {
			r->pc = pc;
			__atomic_store_n(&r->word, word, __ATOMIC_RELEASE);
			return KNOWN;
		}
		if ((r->word & what) == what)
			return KNOWN;
		if (r->word >= t->raised)
			word = r->word | what;
		else
			check_tell(r);
	} else if (r->word >= t->dead && r->word & ~what & SHADOW_BYTES) {
		check_tell(r);
	}
	r->pc = pc;
	__atomic_store_n(&r->word, word, __ATOMIC_RELEASE);
	return NOTED;
}

/*
 * Of a cell that has readers: does the thread know all writes that are in its second word? A list
 * may be freed at any time, not unmapped. One with something in it that is dead wants to be made
 * shorter: it is read each time.
 */
static inline bool knows_all(const struct rt_thread *t, const struct shadow_cell *cell,
			     uint64_t second, uint64_t what)
{
	const struct shadow_list *list = shadow_list(second);

	if (!list)
		return check_mine(t, second) || !check_conflicts(second, what) ||
		       check_known(t, second);
	for (uint32_t i = 0, n = list->n < list->cap ? list->n : list->cap; i < n; i++) {
		uint64_t word = __atomic_load_n(&list->w[i], __ATOMIC_RELAXED);

		if (check_word_dead(word) ||
		    (!check_mine(t, word) && check_conflicts(word, what) && !check_known(t, word)))
			return false;
	}
	return __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE) == second;
}

/*
 * The thread has nothing to do with the cell so far, and at most one other has: what that one did
 * is of no interest any more and this takes its place; or it does not conflict, or is a write that
 * the thread knows to be before it, and there is room for both.
 */
static inline bool first_time(struct rt_thread *t, struct shadow_cell *cell, uint64_t other,
			      uint64_t what)
{
	bool beside = other && !check_conflicts(other, what);

	if (other && !beside) {
		if (check_word_dead(other))
			check_behind_dead(t, other);
		else if (!(other & SHADOW_WRITE) || !check_known(t, other) ||
			 (what & SHADOW_WRITE && other & ~what & SHADOW_BYTES))
			return false;
		else
			beside = !(what & SHADOW_WRITE);
	}
	if (beside)
		other = 0;
	return __atomic_compare_exchange_n(&cell->w[beside], &other, t->now | what, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Of two words of its own, which one has more to do with this? Just this, more, less, else. */
static inline uint32_t fits(uint64_t word, uint64_t what)
{
	enum { KIND = SHADOW_WRITE | SHADOW_BYTES };

	return 2 * ((word & what) == (what & KIND)) + !(word & ~what & KIND);
}

/*
 * A word of the cell is the thread's, and what it does is known from it, or takes its place: it
 * does not conflict with the other word.
 *
 * What was done in this stretch, but not in this function: the word is made young. Where others
 * read the same, a store for each function would drag the line from processor to
 * processor. Then the thread keeps what there is to tell for itself, and whoever comes into
 * conflict with the old word asks (check_young()).
 *
 * A word of another kind is for check_access.c where there is room for two; where there is
 * not, it stands for both.
 */
static inline __attribute__((always_inline)) enum outcome
usual(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address, uint64_t what, uintptr_t pc)
{
	uint64_t w0 = access_word(cell, 0), w1 = access_word(cell, 1), own = w0, other = w1, left;
	bool others;
	int i = 0;

	if (!check_mine(t, w0)) {
		if (RT_UNLIKELY(shadow_readers(w0))) {
			if (what & SHADOW_WRITE ||
			    (!access_kept(t, w0, address, what) && !knows_all(t, cell, w1, what)))
				return NEEDS_LOCK;
			return keep(t, w0, address, what, pc);
		}
		if (!w1)
			return first_time(t, cell, w0, what) ? NOTED : NEEDS_LOCK;
		if (!check_mine(t, w1))
			return NEEDS_LOCK;
		i = 1;
	} else if (check_mine(t, w1)) {
		i = fits(w1, what) > fits(w0, what);
	}
	if (i) {
		own = w1;
		other = w0;
	}
	others = other && !check_mine(t, other);
	/* A write that this thread knows to be before it stays where it is. */
	if (others && check_conflicts(other, what) &&
	    (what & SHADOW_WRITE || !check_known(t, other)))
		return NEEDS_LOCK;
	if (check_this_stretch(t, own) && (own & what) == what) {
		if (own >= t->limit)
			return KNOWN;
		if (!((own ^ what) & (SHADOW_WRITE | SHADOW_BYTES))) {
			make_young(t, cell, i, own, !others, address, pc);
			return KNOWN;
		}
		if (other)
			return KNOWN;
	}
	/* Nothing of the word may be left: it is dead, this takes its place, or stands for both. */
	left = own & ~what & (SHADOW_WRITE | SHADOW_BYTES);
	what |= t->now;
	if (left && own >= t->dead) {
		if (own < t->limit || own < t->raised || (own ^ what) & SHADOW_WRITE)
			return NEEDS_LOCK;
		what = own | (what & SHADOW_BYTES);
	}
	__atomic_store_n(&cell->w[i], what, __ATOMIC_RELAXED);
	return NOTED;
}

__attribute__((noinline)) static void slower(enum raw_op op, uintptr_t address, size_t size,
					     uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uint64_t time;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	check_access(t, op, address, size, pc, &time);
	if (RT_UNLIKELY(record_on))
		record_access(t, op, address, size, time, pc);
	rt_leave(t);
}

/* Does this word not keep the thread from having the line, or from reading it with others? */
static inline bool is_own(const struct rt_thread *t, uint64_t word, uint64_t write)
{
	return !word || check_mine(t, word) || check_settled(t, word) ||
	       (shadow_slot(word) < SHADOW_NOBODY &&
		(!((word | write) & SHADOW_WRITE) || check_word_dead(word)));
}

/*
 * Nothing in the cell is of interest but what this thread did, or, where it reads, what others have
 * read: perhaps it is so in the whole line. Each time that this was asked in vain it is asked half
 * as often.
 */
static inline enum line_outcome closes(struct rt_thread *t, struct shadow_line *l,
				       uintptr_t address, uintptr_t end, uint64_t write,
				       uintptr_t pc)
{
	uint64_t vain = __atomic_load_n(&l->young, __ATOMIC_RELAXED);
	const struct shadow_cell *cell;

	if (t->asked++ & ((1u << (vain & LINE_LOW) % (LINE_VAIN + 1)) - 1))
		return LINE_CELLS;
	cell = shadow_find(SHADOW_DATA, address);
	if (!cell || !is_own(t, access_word(cell, 0), write) ||
	    !is_own(t, access_word(cell, 1), write))
		return LINE_CELLS;
	return line_close(t, l, line_bits(address, end), write, address, pc);
}

/* It is in cells. */
__attribute__((noinline)) static enum outcome not_in_line(struct rt_thread *t,
							  struct shadow_line *l, uintptr_t address,
							  uintptr_t end, uint64_t write,
							  uintptr_t pc)
{
	enum outcome all = KNOWN;

	if (__atomic_load_n(&l->head, __ATOMIC_ACQUIRE) != LINE_IN_CELLS)
		return NEEDS_LOCK;
	if (closes(t, l, address, end, write, pc) != LINE_CELLS)
		return NOTED;
	if (__atomic_load_n(&l->head, __ATOMIC_ACQUIRE) != LINE_IN_CELLS)
		return NEEDS_LOCK;
	for (uintptr_t at = address; at < end; at = (at | 7) + 1) {
		struct shadow_cell *cell = shadow_find(SHADOW_DATA, at);
		enum outcome one = RT_LIKELY(cell)
					   ? usual(t, cell, at, write | check_bytes(at, end), pc)
					   : NEEDS_LOCK;

		if (one == NEEDS_LOCK)
			return one;
		all = one == NOTED ? NOTED : all;
	}
	return all;
}

static inline __attribute__((always_inline)) enum outcome in_line(struct rt_thread *t,
								  struct shadow_line *l,
								  uintptr_t address, uintptr_t end,
								  uint64_t write, uintptr_t pc)
{
	uint64_t bits = line_bits(address, end);
	enum line_outcome one = line_note(t, l, bits, write, address, pc);

	if (RT_LIKELY(one != LINE_CELLS))
		return one == LINE_NOTED ? NOTED : KNOWN;
	return not_in_line(t, l, address, end, write, pc);
}

/* Outside of blocks, and of no interest to anybody: only what it would conflict with is. */
static bool nothing_outside(const struct rt_thread *t, uint64_t write, uintptr_t address,
			    uintptr_t end)
{
	for (uintptr_t at = address, stop; at < end; at = stop) {
		const struct shadow_line *l = shadow_line_find(at);

		stop = (at | (LINE_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		if (!l || l->head == LINE_IN_CELLS) {
			for (; at < stop; at = (at | 7) + 1) {
				const struct shadow_cell *cell = shadow_find(SHADOW_DATA, at);

				if (!cell ||
				    !check_no_conflict(t, cell, write | check_bytes(at, stop)))
					return false;
			}
		} else if (!line_no_conflict(t, l, line_bits(at, stop), write)) {
			return false;
		}
	}
	return true;
}

/* Something else than the precise check alone. */
__attribute__((noinline)) static void otherwise(enum raw_op op, uintptr_t address, size_t size,
						uintptr_t pc)
{
	if (icd_on && rt_mode != RT_NOTHING) {
		icd_access(op, address, size, pc);
		return;
	}
	if (predict_on)
		predict_access(op, address, size, pc);
	if (record_on)
		slower(op, address, size, pc);
}

__attribute__((noinline)) static void precise(enum raw_op op, uintptr_t address, size_t size,
					      uintptr_t pc)
{
	uint64_t write = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHADOW_WRITE;
	uintptr_t end = address + size;
	struct rt_thread *t = &rt_self;
	enum outcome one = KNOWN;
	bool noted = false;

	if (t->outside && nothing_outside(t, write, address, end))
		return;
	/* A thread that is just beginning, or is not checked, has no slot. */
	if (RT_UNLIKELY(!t->slot || !check_matters(t) || t->ignoring || !rt_enter(t))) {
		slower(op, address, size, pc);
		return;
	}
	for (uintptr_t at = address, stop; at < end && one != NEEDS_LOCK; at = stop) {
		struct shadow_line *l = shadow_line_find(at);

		stop = (at | (LINE_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		one = RT_LIKELY(l) ? in_line(t, l, at, stop, write, pc) : NEEDS_LOCK;
		noted |= one == NOTED;
	}
	if (RT_LIKELY(one != NEEDS_LOCK) && noted) {
		if (op > RAW_UPDATE)
			history_put_sized(t, op, address, size, pc);
		else
			history_put(t, op, address, (uint32_t)size, pc);
	}
	rt_leave(t);
	if (RT_UNLIKELY(one == NEEDS_LOCK))
		slower(op, address, size, pc);
}

#define FIRST(bytes)                                                                               \
	void access_read##bytes(const void *address, uintptr_t pc)                                 \
	{                                                                                          \
		if (!access_simple(RAW_READ, (uintptr_t)address, bytes, pc))                       \
			access_slow(RAW_READ, (uintptr_t)address, bytes, pc);                      \
	}                                                                                          \
	void access_write##bytes(const void *address, uintptr_t pc)                                \
	{                                                                                          \
		if (!access_simple(RAW_WRITE, (uintptr_t)address, bytes, pc))                      \
			access_slow(RAW_WRITE, (uintptr_t)address, bytes, pc);                     \
	}
FIRST(1)
FIRST(2)
FIRST(4)
FIRST(8)
FIRST(16)

/* Nothing but jumps, as a rule: whoever it is for needs all registers. */
void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	uint32_t mode = rt_mode;

	/* access_simple() leaves them. */
	if (RT_UNLIKELY(rt_self.pending) && !rt_self.quiet)
		rt_signals_deliver(&rt_self);
	if (RT_LIKELY(mode == RT_CHECKING))
		precise(op, address, size, pc);
	else if (mode == RT_OWNING)
		icd_access(op, address, size, pc);
	else
		otherwise(op, address, size, pc);
}
