/*
 * Accesses that were not already recorded (docs/architecture.md). Most of them are the first of
 * their kind in a transaction or in a function, and no other thread uses those bytes at the time.
 * They end here, in the unlocked tier; the others go to shadow/locked.c.
 */
#include "runtime/frontier/access.h"

#include "runtime/frontier/frontier.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

/* The result of an access: NOTED if it is the first of its kind in this stretch. */
enum outcome { NEEDS_LOCK, KNOWN, NOTED };

/* Use the entry for this cell; what it kept for another one is published first. */
static inline void repeat_take_over(struct rt_thread *t, struct rt_repeat *r, uint64_t word,
				    uint64_t in_cell, uintptr_t address, uintptr_t pc)
{
	if (RT_UNLIKELY(r->in_cell) && r->in_cell != in_cell && r->word >= t->time.dead)
		cell_publish_repeat(r);
	__atomic_store_n(&r->word, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->address, address, __ATOMIC_RELEASE);
	__atomic_store_n(&r->in_cell, in_cell, __ATOMIC_RELEASE);
	r->pc = pc;
	__atomic_store_n(&r->word, word, __ATOMIC_RELEASE);
}

/*
 * Renew a word of this thread and stretch: this access did the same. If another thread has a word
 * in the cell, too, the thread keeps the renewed word for itself.
 */
static inline void renew_word(struct rt_thread *t, struct shadow_cell *cell, int i, uint64_t word,
			      bool alone, uintptr_t address, uintptr_t pc)
{
	struct rt_repeat *r = &t->shadow.repeat[address >> 3 & (RT_REPEATS - 1)];
	uint64_t renewed = t->time.now | (word & (SHADOW_WRITE | SHADOW_BYTES));

	if (alone) {
		__atomic_store_n(&cell->w[i], renewed, __ATOMIC_RELAXED);
		if (!r->in_cell || r->word < t->time.dead)
			repeat_take_over(t, r, renewed, 0, address, pc);
	} else if (r->in_cell != word || (r->address ^ address) & ~7ul) {
		repeat_take_over(t, r, renewed, word, address, pc);
	} else if (r->word < t->time.limit) {
		r->pc = pc;
		__atomic_store_n(&r->word, renewed, __ATOMIC_RELEASE);
	}
}

/*
 * Keep a read of a read-shared cell in the thread's own entry. Reads of different bytes become one
 * only if they are of one stretch and one clock, with the older age: see can_stand_for() in
 * cell.c.
 */
static inline enum outcome note_shared_cell_read(struct rt_thread *t, uint64_t readers,
						 uintptr_t address, uint64_t what, uintptr_t pc)
{
	struct rt_repeat *r = &t->shadow.repeat[address >> 3 & (RT_REPEATS - 1)];
	uint64_t word = t->time.now | what;

	if (r->in_cell != readers || (r->address ^ address) & ~7ul) {
		repeat_take_over(t, r, word, readers, address, pc);
		return NOTED;
	}
	if (word_in_stretch(t, r->word)) {
		if (r->word >= t->time.limit && (r->word & what) == what)
			return KNOWN;
		if (!((r->word ^ what) & SHADOW_BYTES)) {
			r->pc = pc;
			__atomic_store_n(&r->word, word, __ATOMIC_RELEASE);
			return KNOWN;
		}
		if ((r->word & what) == what)
			return KNOWN;
		if (r->word >= t->time.raised)
			word = r->word | what;
		else
			cell_publish_repeat(r);
	} else if (r->word >= t->time.dead && r->word & ~what & SHADOW_BYTES) {
		cell_publish_repeat(r);
	}
	r->pc = pc;
	__atomic_store_n(&r->word, word, __ATOMIC_RELEASE);
	return NOTED;
}

/*
 * Are all writes in the second word of a read-shared cell ordered before this access? Looks without
 * the lock: a list may be freed at any time, but is never unmapped. False also if the list holds
 * dead words, so that it gets shorter: it is searched at each read.
 */
static inline bool are_writes_known(const struct rt_thread *t, const struct shadow_cell *cell,
				    uint64_t second, uint64_t what)
{
	const struct shadow_list *list = shadow_list(second);

	if (!list)
		return word_classify(t, second, what) < WORD_DEAD || word_is_known(t, second);
	for (uint32_t i = 0, n = list->n < list->cap ? list->n : list->cap; i < n; i++) {
		uint64_t word = __atomic_load_n(&list->w[i], __ATOMIC_RELAXED);

		if (word_is_dead(word) || word_classify(t, word, what) == WORD_CONFLICTING)
			return false;
	}
	return __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE) == second;
}

/*
 * Add the thread's first word to a cell with at most one word, `other`, of another thread. The new
 * word replaces the other one if that is dead or written over, and stands beside it if that does
 * not conflict, or is a write that is ordered before this read. False: the lock is needed.
 */
static inline bool add_first_word(struct rt_thread *t, struct shadow_cell *cell, uint64_t other,
				  uint64_t what)
{
	bool beside = false;

	switch (word_classify(t, other, what)) {
	case WORD_OWN:
	case WORD_CONFLICTING:
		return false;
	case WORD_EMPTY:
		break;
	case WORD_DISJOINT:
		beside = true;
		break;
	case WORD_DEAD:
		time_after_dead(t, other);
		break;
	case WORD_ORDERED:
		/* A read may have been renewed since; of a write, this write must leave nothing. */
		if (!(other & SHADOW_WRITE) ||
		    (what & SHADOW_WRITE && other & ~what & SHADOW_BYTES))
			return false;
		beside = !(what & SHADOW_WRITE);
	}
	if (beside)
		other = 0;
	return __atomic_compare_exchange_n(&cell->w[beside], &other, t->time.now | what, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* How well a word of the thread fits an access: 3 the same, 2 more, 1 less, 0 neither. */
static inline uint32_t rank_fit(uint64_t word, uint64_t what)
{
	enum { KIND = SHADOW_WRITE | SHADOW_BYTES };

	return 2 * ((word & what) == (what & KIND)) + !(word & ~what & KIND);
}

/*
 * Access a cell without the lock, if the thread's word in it records the access already, or the
 * access replaces that word; and the other word does not conflict.
 *
 * If the thread did the same in this stretch, but in an earlier function, its word is renewed. If
 * other threads read the cell, too, a store for each function would drag the cache line from
 * processor to processor. Then the thread keeps the renewed word for itself, and a thread that
 * comes into conflict with the old word asks for it (cell_renewed_word()).
 *
 * An own word of another kind is left to the locked tier if there is room for two words; if there
 * is not, it stands for both.
 */
static inline __attribute__((always_inline)) enum outcome
access_cell_unlocked(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address,
		     uint64_t what, uintptr_t pc)
{
	uint64_t w0 = access_word(cell, 0), w1 = access_word(cell, 1), own = w0, other = w1, left;
	bool others;
	int i = 0;

	if (!word_is_mine(t, w0)) {
		if (RT_UNLIKELY(shadow_readers(w0))) {
			if (what & SHADOW_WRITE || (!access_is_in_entry(t, w0, address, what) &&
						    !are_writes_known(t, cell, w1, what)))
				return NEEDS_LOCK;
			return note_shared_cell_read(t, w0, address, what, pc);
		}
		if (!w1)
			return add_first_word(t, cell, w0, what) ? NOTED : NEEDS_LOCK;
		if (!word_is_mine(t, w1))
			return NEEDS_LOCK;
		i = 1;
	} else if (word_is_mine(t, w1)) {
		i = rank_fit(w1, what) > rank_fit(w0, what);
	}
	if (i) {
		own = w1;
		other = w0;
	}
	others = other && !word_is_mine(t, other);
	/* Another thread's write that is ordered before this read stays. */
	if (others && word_conflicts(other, what) &&
	    (what & SHADOW_WRITE || !word_is_known(t, other)))
		return NEEDS_LOCK;
	if (word_in_stretch(t, own) && (own & what) == what) {
		if (own >= t->time.limit)
			return KNOWN;
		if (!((own ^ what) & (SHADOW_WRITE | SHADOW_BYTES))) {
			renew_word(t, cell, i, own, !others, address, pc);
			return KNOWN;
		}
		if (other)
			return KNOWN;
	}
	/* The word must go: it is dead, this access replaces it, or one word stands for both. */
	left = own & ~what & (SHADOW_WRITE | SHADOW_BYTES);
	what |= t->time.now;
	if (left && own >= t->time.dead) {
		if (own < t->time.limit || own < t->time.raised || (own ^ what) & SHADOW_WRITE)
			return NEEDS_LOCK;
		what = own | (what & SHADOW_BYTES);
	}
	__atomic_store_n(&cell->w[i], what, __ATOMIC_RELAXED);
	return NOTED;
}

static void note_in_history(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
			    uintptr_t pc)
{
	if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
		history_put_sized(t, op, address, size, pc);
	else
		history_put(t, op, address, (uint32_t)size, pc);
}

/*
 * The locked tier. An access that brought an edge goes to the history even if it was not recorded:
 * the order that it brought can be passed on.
 */
__attribute__((noinline)) static void access_locked(enum raw_op op, uintptr_t address, size_t size,
						    uintptr_t pc)
{
	uint64_t write = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHADOW_WRITE;
	bool noted = false, fresh = false;
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	if (RT_LIKELY(t->slot && rt_checking)) {
		shadow_access_locked(t, address, address + size, write, pc, false, &fresh, &noted);
		if (noted || fresh)
			note_in_history(t, op, address, size, pc);
		frontier_report(t, op, pc);
	}
	rt_leave(t);
}

void frontier_access_serial(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	uint64_t write = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHADOW_WRITE;
	uint64_t time = machine_clock();
	bool noted = false, fresh = false;
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	if (t->slot && rt_checking) {
		struct shadow_stripe *stripe = shadow_stripe(address);

		rt_lock_ranked(&stripe->lock, RT_STRIPE);
		time = shadow_stamp(stripe);
		shadow_access_locked(t, address, address + size, write, pc, true, &fresh, &noted);
		rt_unlock(&stripe->lock);
		if (noted || fresh)
			note_in_history(t, op, address, size, pc);
		frontier_report(t, op, pc);
	}
	rt_recorder->accessed(t, op, address, size, time, pc);
	rt_leave(t);
}

/* Does this word allow that the thread gets the line, or that it becomes read-shared? */
static inline bool allows_closing(const struct rt_thread *t, uint64_t word, uint64_t write)
{
	enum word_class class = shadow_slot(word) < SHADOW_NOBODY
					? word_classify(t, word, write | SHADOW_BYTES)
					: WORD_CONFLICTING;

	return class < WORD_ORDERED || (class == WORD_ORDERED && word_is_settled(t, word));
}

/*
 * If the words of this cell allow it, try to close the line. After each vain attempt, this is tried
 * half as often.
 */
static inline enum line_outcome try_closing(struct rt_thread *t, struct shadow_line *l,
					    uintptr_t address, uintptr_t end, uint64_t write,
					    uintptr_t pc)
{
	uint64_t last = __atomic_load_n(&l->last_owner, __ATOMIC_RELAXED);
	const struct shadow_cell *cell;

	if (t->shadow.tries++ & ((1u << line_vain_attempts(last) % (LINE_VAIN + 1)) - 1))
		return LINE_NEEDS_CELLS;
	cell = shadow_find(SHADOW_DATA, address);
	if (!cell || !allows_closing(t, access_word(cell, 0), write) ||
	    !allows_closing(t, access_word(cell, 1), write))
		return LINE_NEEDS_CELLS;
	return line_close(t, l, line_bits(address, end), write, address, pc);
}

/* Access a line in cells. */
__attribute__((noinline)) static enum outcome
access_cells_unlocked(struct rt_thread *t, struct shadow_line *l, uintptr_t address, uintptr_t end,
		      uint64_t write, uintptr_t pc)
{
	enum outcome all = KNOWN;

	if (!line_is_in_cells(line_load_head(l)))
		return NEEDS_LOCK;
	if (try_closing(t, l, address, end, write, pc) != LINE_NEEDS_CELLS)
		return NOTED;
	if (!line_is_in_cells(line_load_head(l)))
		return NEEDS_LOCK;
	for (uintptr_t at = address; at < end; at = (at | 7) + 1) {
		struct shadow_cell *cell = shadow_find(SHADOW_DATA, at);
		enum outcome one =
			RT_LIKELY(cell)
				? access_cell_unlocked(t, cell, at, write | cell_bytes(at, end), pc)
				: NEEDS_LOCK;

		if (one == NEEDS_LOCK)
			return one;
		all = one == NOTED ? NOTED : all;
	}
	return all;
}

static inline __attribute__((always_inline)) enum outcome
access_line_unlocked(struct rt_thread *t, struct shadow_line *l, uintptr_t address, uintptr_t end,
		     uint64_t write, uintptr_t pc)
{
	uint64_t bits = line_bits(address, end);
	enum line_outcome one = line_note(t, l, bits, write, address, pc);

	if (RT_LIKELY(one != LINE_NEEDS_CELLS))
		return one == LINE_NOTED ? NOTED : KNOWN;
	return access_cells_unlocked(t, l, address, end, write, pc);
}

/* Does the access conflict with nothing? It is one that need not be in the shadow. */
static bool has_no_conflict(const struct rt_thread *t, uint64_t write, uintptr_t address,
			    uintptr_t end)
{
	for (uintptr_t at = address, stop; at < end; at = stop) {
		const struct shadow_line *l = shadow_line_find(at);

		stop = (at | (LINE_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		if (!l || line_is_in_cells(l->head)) {
			for (; at < stop; at = (at | 7) + 1) {
				const struct shadow_cell *cell = shadow_find(SHADOW_DATA, at);

				if (!cell ||
				    !cell_has_no_conflict(t, cell, write | cell_bytes(at, stop)))
					return false;
			}
		} else if (!line_no_conflict(t, l, line_bits(at, stop), write)) {
			return false;
		}
	}
	return true;
}

void frontier_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	uint64_t write = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHADOW_WRITE;
	uintptr_t end = address + size;
	struct rt_thread *t = &rt_self;
	enum outcome one = KNOWN;
	bool noted = false;

	if (t->shadow.outside && has_no_conflict(t, write, address, end))
		return;
	/* A thread that is just beginning, or is not checked, has no slot. */
	if (RT_UNLIKELY(!t->slot || !time_matters(t) || t->ignoring || !rt_enter(t))) {
		access_locked(op, address, size, pc);
		return;
	}
	for (uintptr_t at = address, stop; at < end && one != NEEDS_LOCK; at = stop) {
		struct shadow_line *l = shadow_line_find(at);

		stop = (at | (LINE_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		one = RT_LIKELY(l) ? access_line_unlocked(t, l, at, stop, write, pc) : NEEDS_LOCK;
		noted |= one == NOTED;
	}
	if (RT_LIKELY(one != NEEDS_LOCK) && noted)
		note_in_history(t, op, address, size, pc);
	rt_leave(t);
	if (RT_UNLIKELY(one == NEEDS_LOCK))
		access_locked(op, address, size, pc);
}
