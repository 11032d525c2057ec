/*
 * Accesses of memory, and of locks, in the shadow: what conflicts with what,
 * and what a cell remembers.
 *
 * A cell remembers, for each byte, the last write and the reads since then, as
 * far as they are still of interest. A write takes edges from all of them and
 * takes their place; a read takes edges from writes, and takes the place of
 * the thread's own earlier read. A read whose edge to a write closed a cycle
 * stays: that edge was left out, and a later write may have to take it.
 *
 * A thread that finds only words of its own in a cell changes it without
 * the lock: nobody else has anything to say about these bytes, or they have,
 * at this very moment, under the lock, and then one of the two stores is
 * lost. Where both are in the right (they touch different bytes, or
 * both read) a step may be forgotten that would have mattered; none is
 * ever invented. It takes two threads in the same few instructions, for the
 * first time with these 8 bytes. The same goes for one that comes to a cell with
 * at most one word in it, and for one that reads what has readers (access.c). With a recording
 * running, everything happens under one lock, where it also takes its time, so that both tell the
 * same story.
 */
#include "runtime/frontier/check.h"
#include "runtime/doublechecker/icd.h"
#include "runtime/shadow/owned_line.h"
#include "runtime/record/record.h"

/* What is left of the thread's own earlier access when it does `what`. */
static inline uint64_t behind_own(uint64_t word, uint64_t what)
{
	if (what & SHADOW_WRITE || !(word & SHADOW_WRITE))
		word &= ~(what & SHADOW_BYTES);
	return word & SHADOW_BYTES ? word : 0;
}

/*
 * In the same stretch, in the same way, by the same clock: can one word stand for both? (Whoever
 * knows the older one takes no clock from it.)
 */
static inline bool alike(const struct rt_thread *t, uint64_t word, uint64_t what)
{
	return word && check_this_stretch(t, word) && word >= t->raised &&
	       !((word ^ what) & SHADOW_WRITE);
}

/* Two of its own, of one stretch: one of the older age stands for both. 0: they are not alike. */
static inline uint64_t merged(const struct rt_thread *t, uint64_t a, uint64_t b)
{
	if (!alike(t, a, b) || !alike(t, b, a))
		return 0;
	return (a < b ? a : b) | ((a | b) & SHADOW_BYTES);
}

/*
 * A word of the cell is this thread's, and the other is empty, its own, or has nothing to do with
 * what it does: then it changes its own. False: the lock is needed.
 *
 * Two words hold two ages. Of three, two of one stretch become one, of the older age: then an inner
 * block may be thought not to have touched these bytes, never the other way round.
 */
static inline bool alone(struct rt_thread *t, struct shadow_cell *cell, uint64_t what, bool *noted)
{
	uint64_t w[2] = {__atomic_load_n(&cell->w[0], __ATOMIC_RELAXED),
			 __atomic_load_n(&cell->w[1], __ATOMIC_RELAXED)};
	uint64_t fresh = t->now | what;
	int i = !check_mine(t, w[0]), other = !i;
	bool both;

	if (!check_mine(t, w[i]) || shadow_slot(w[other]) == SHADOW_LIST)
		return false;
	both = check_mine(t, w[other]);
	if (!both && check_conflicts(w[other], what))
		return false;
	if (!check_matters(t))
		return true; /* no edge can come from here, and nobody will ask */
	w[i] = check_word_dead(w[i]) ? 0 : behind_own(w[i], what);
	if (both)
		w[other] = check_word_dead(w[other]) ? 0 : behind_own(w[other], what);
	if (both || !w[other]) {
		if (w[i] && w[other]) {
			int merge = alike(t, w[i], what) ? i : other;

			if (alike(t, w[merge], what)) {
				fresh = w[merge] | what;
				w[merge] = 0;
			} else {
				w[other] = merged(t, w[i], w[other]);
				w[i] = 0;
				if (!w[other])
					return false;
			}
		}
		__atomic_store_n(&cell->w[other], w[i] | w[other], __ATOMIC_RELAXED);
	} else if (w[i]) {
		if (!alike(t, w[i], what))
			return false;
		fresh = w[i] | what;
	}
	*noted = true;
	__atomic_store_n(&cell->w[i], fresh, __ATOMIC_RELAXED);
	return true;
}

/* The words of a cell, wherever they are. */
struct words {
	uint64_t *v;
	uint32_t n, cap;
	struct shadow_list *list;
	uint64_t readers; /* 0, or the word that stands for them */
	uint64_t own[3];
};

static void unpack(struct words *ws, struct shadow_cell *cell)
{
	ws->list = shadow_list(cell->w[1]);
	ws->readers = shadow_readers(cell->w[0]) ? cell->w[0] : 0;
	if (ws->list) {
		ws->v = ws->list->w;
		ws->n = ws->list->n;
		ws->cap = ws->list->cap;
		return;
	}
	ws->v = ws->own;
	ws->n = 0;
	ws->cap = 3;
	for (int i = ws->readers != 0; i < 2; i++)
		if (cell->w[i])
			ws->v[ws->n++] = cell->w[i];
}

static void drop_dead(struct words *ws)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ws->n; i++)
		if (!check_word_dead(ws->v[i]))
			ws->v[kept++] = ws->v[i];
	ws->n = kept;
}

/* Add a word; there is room for one more than fits into a cell. */
static bool add(struct words *ws, struct shadow_cell *cell, uint64_t word)
{
	if (ws->n == ws->cap)
		drop_dead(ws);
	if (ws->n == ws->cap) {
		struct shadow_list *grown = shadow_list_new(cell, ws->cap + 1);

		if (!grown)
			return false;
		for (uint32_t i = 0; i < ws->n; i++)
			grown->w[i] = ws->v[i];
		if (ws->list) {
			/* Whoever looks at the cell without the lock finds one or the other. */
			__atomic_store_n(&cell->w[1], shadow_list_word(grown), __ATOMIC_RELEASE);
			shadow_list_free(ws->list);
		}
		ws->list = grown;
		ws->v = grown->w;
		ws->cap = grown->cap;
	}
	ws->v[ws->n++] = word;
	return true;
}

static void pack(struct words *ws, struct shadow_cell *cell)
{
	uint32_t room = ws->readers ? 1 : 2;

	if (ws->n > room)
		drop_dead(ws);
	if (ws->n <= room) {
		uint64_t first = ws->n ? ws->v[ws->n - 1] : 0, second = ws->n > 1 ? ws->v[0] : 0;

		if (ws->readers) {
			second = first;
			first = ws->readers;
		}
		__atomic_store_n(&cell->w[1], second, __ATOMIC_RELEASE);
		__atomic_store_n(&cell->w[0], first, __ATOMIC_RELEASE);
		if (ws->list)
			shadow_list_free(ws->list);
		return;
	}
	if (!ws->list) {
		struct shadow_list *list = shadow_list_new(cell, ws->n);

		if (!list)
			return;
		for (uint32_t i = 0; i < ws->n; i++)
			list->w[i] = ws->v[i];
		ws->list = list;
	}
	ws->list->n = ws->n;
	__atomic_store_n(&cell->w[0], ws->readers, __ATOMIC_RELEASE);
	__atomic_store_n(&cell->w[1], shadow_list_word(ws->list), __ATOMIC_RELEASE);
}

/* Somebody writes: what the readers have kept for themselves is among the words from now on. */
static void ask_readers(struct rt_thread *t, struct words *ws, struct shadow_cell *cell,
			uintptr_t address, uint64_t what)
{
	for (uint32_t i = 1, n = __atomic_load_n(&check_slots, __ATOMIC_ACQUIRE); i < n; i++) {
		uint64_t word = check_kept(i, ws->readers, address);

		if (!word)
			continue;
		if (!check_word_dead(word)) {
			if (!add(ws, cell, word))
				return;
		} else if (i != t->slot && check_conflicts(word, what)) {
			check_behind_dead(t, word);
		}
	}
	ws->readers = 0;
	check_had_readers(address);
}

/* Are there reads of more than one thread? */
static bool is_read_by_many(const struct words *ws)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < ws->n; i++) {
		if (ws->v[i] & SHADOW_WRITE)
			continue;
		if (first && shadow_slot(ws->v[i]) != shadow_slot(first))
			return true;
		first = ws->v[i];
	}
	return false;
}

uint64_t check_new_readers(void)
{
	static uint64_t last;

	return (uint64_t)SHADOW_READERS << SHADOW_SLOT_SHIFT |
	       (__atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) & (SHADOW_TIMES - 1))
		       << SHADOW_TIME_SHIFT;
}

/* What is left of a word when `added` comes behind it. */
static inline uint64_t behind_added(uint64_t word, uint64_t added)
{
	if (shadow_slot(word) == shadow_slot(added) || added & SHADOW_WRITE)
		word = behind_own(word, added);
	return word;
}

void check_add(struct shadow_cell *cell, uint64_t added)
{
	uint64_t w0 = cell->w[0], w1 = cell->w[1];
	uint32_t kept = 0;
	struct words ws;

	/* The usual: what is left is one word. */
	if (shadow_slot(w0) < SHADOW_NOBODY && shadow_slot(w1) < SHADOW_NOBODY) {
		w0 = behind_added(w0, added);
		w1 = behind_added(w1, added);
		if (!w0 || !w1) {
			__atomic_store_n(&cell->w[1], w0 | w1, __ATOMIC_RELEASE);
			__atomic_store_n(&cell->w[0], added, __ATOMIC_RELEASE);
			return;
		}
	}
	unpack(&ws, cell);
	for (uint32_t i = 0; i < ws.n; i++) {
		uint64_t word = behind_added(ws.v[i], added);

		if (word)
			ws.v[kept++] = word;
	}
	ws.n = kept;
	if (add(&ws, cell, added))
		pack(&ws, cell);
}

void check_tell(const struct rt_repeat *r)
{
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, r->address);
	struct shadow_stripe *stripe = shadow_stripe(r->address);

	if (!shadow_readers(r->kept)) {
		for (int i = 0; i < 2; i++) {
			uint64_t old = r->kept;

			__atomic_compare_exchange_n(&cell->w[i], &old, r->word, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		}
		return;
	}
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	if (cell->w[0] == r->kept)
		check_add(cell, r->word);
	rt_unlock(&stripe->lock);
}

/* Edges from all words that conflict with `what`; those bytes are somebody else's afterwards. */
static void take_edges(struct rt_thread *t, struct words *ws, uint64_t what, bool *fresh)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];

		if (check_mine(t, word)) {
			word = behind_own(word, what);
		} else if (check_conflicts(word, what)) {
			if (check_word_dead(word)) {
				check_behind_dead(t, word);
				continue;
			}
			if (!(word & SHADOW_WRITE))
				word = check_young(word, t->at);
			/* The bytes that both have: a report wants to know. */
			if ((check_edge(t, word & (what | ~(uint64_t)SHADOW_BYTES), fresh) ||
			     word & SHADOW_WRITE) &&
			    what & SHADOW_WRITE)
				word &= ~(what & SHADOW_BYTES);
		}
		if (word & SHADOW_BYTES)
			ws->v[kept++] = word;
	}
	ws->n = kept;
}

/* The word at `i`, with all that are like it; they are taken out. */
static uint64_t merged_all(const struct rt_thread *t, struct words *ws, uint32_t i)
{
	uint64_t word = ws->v[i];

	ws->v[i] = ws->v[--ws->n];
	while (i < ws->n) {
		uint64_t both = check_mine(t, ws->v[i]) ? merged(t, word, ws->v[i]) : 0;

		if (both) {
			word = both;
			ws->v[i] = ws->v[--ws->n];
		} else {
			i++;
		}
	}
	return word;
}

/*
 * There is nothing in the cell, or one word of another thread that brings no edge: it does not
 * conflict, is dead, or is a write that is known to be before this. Then there is room for both.
 */
static inline bool beside(struct rt_thread *t, struct shadow_cell *cell, uint64_t what)
{
	uint64_t word = cell->w[0];

	if (cell->w[1] || shadow_slot(word) >= SHADOW_NOBODY || check_mine(t, word))
		return false;
	if (check_conflicts(word, what)) {
		if (check_word_dead(word)) {
			check_behind_dead(t, word);
			word = 0;
		} else if (!(word & SHADOW_WRITE) || !check_known(t, word)) {
			return false;
		} else if (what & SHADOW_WRITE) {
			word &= ~(what & SHADOW_BYTES);
		}
	}
	__atomic_store_n(&cell->w[1], word & SHADOW_BYTES ? word : 0, __ATOMIC_RELEASE);
	__atomic_store_n(&cell->w[0], t->now | what, __ATOMIC_RELEASE);
	return true;
}

/* Under the lock of its stripe. */
static void together(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address,
		     uint64_t what, bool *fresh, bool *noted)
{
	struct words ws;

	if (check_matters(t) && beside(t, cell, what)) {
		*noted = true;
		return;
	}
	unpack(&ws, cell);
	t->at = address & ~7ul;
	if (RT_UNLIKELY(ws.readers && what & SHADOW_WRITE))
		ask_readers(t, &ws, cell, address, what);
	take_edges(t, &ws, what, fresh);
	t->at = 0;
	if (check_matters(t)) {
		uint64_t word = t->now | what;

		for (uint32_t i = 0; i < ws.n && ws.n > 1; i++)
			if (check_mine(t, ws.v[i]) && alike(t, ws.v[i], what)) {
				word = merged_all(t, &ws, i) | what;
				break;
			}
		*noted = true;
		if (!add(&ws, cell, word))
			return;
		if (ws.n > 2)
			drop_dead(&ws);
		if (ws.n > 2 && !(what & SHADOW_WRITE) && !ws.readers && !record_on &&
		    is_read_by_many(&ws) && check_may_have_readers(address))
			ws.readers = check_new_readers() | SHADOW_BYTES;
	}
	pack(&ws, cell);
}

/*
 * Does a list say that this was done already? It may be freed at any time, not unmapped. Not if
 * something in it is dead: it is to be made shorter.
 */
static bool done_in_list(const struct rt_thread *t, const struct shadow_cell *cell, uint64_t what)
{
	uint64_t tag = __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE);
	const struct shadow_list *list = shadow_list(tag);
	bool found = false;

	if (!list ||
	    (what & SHADOW_WRITE && shadow_readers(__atomic_load_n(&cell->w[0], __ATOMIC_ACQUIRE))))
		return false;
	for (uint32_t i = 0, n = list->n < list->cap ? list->n : list->cap; i < n; i++) {
		uint64_t word = __atomic_load_n(&list->w[i], __ATOMIC_RELAXED);

		if (check_word_dead(word))
			return false;
		if (check_mine(t, word))
			found |= (word & what) == what && word >= t->limit;
		else if (what & SHADOW_WRITE && check_conflicts(word, what))
			return false; /* somebody has looked since */
	}
	return found && __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE) == tag;
}

static inline void one_cell(struct rt_thread *t, uintptr_t address, uint64_t what, bool *fresh,
			    bool *noted)
{
	struct shadow_cell *cell = shadow_make(SHADOW_DATA, address);
	struct shadow_stripe *stripe;

	if (!cell || alone(t, cell, what, noted) || done_in_list(t, cell, what) ||
	    (!check_matters(t) && check_no_conflict(t, cell, what)))
		return;
	stripe = shadow_stripe(address);
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	together(t, cell, address, what, fresh, noted);
	rt_unlock(&stripe->lock);
}

/*
 * What lies in one line. Where the thread has it to itself, or nothing of others that conflicts and
 * nothing to leave behind, its cells need not know. `locked`: the lock of the stripe is held.
 */
static void one_line(struct rt_thread *t, uintptr_t at, uintptr_t end, uint64_t write, uintptr_t pc,
		     bool locked, bool *fresh, bool *noted)
{
	enum { FEW = 16 }; /* bytes: there, one may not need the lock */
	struct shadow_line *l = shadow_line_make(at);
	uint32_t *lock = &shadow_stripe(at)->lock;
	uint64_t bits = line_bits(at, end);

	if (!l)
		return;
	if (check_matters(t)) {
		enum line_outcome one = line_note(t, l, bits, write, at, pc);

		*noted |= one == LINE_NOTED;
		if (one != LINE_CELLS)
			return;
	} else {
		t->outside = true;
		if (line_no_conflict(t, l, bits, write))
			return;
	}
	if (!line_open(l, at)) {
		/* Nothing in it is of interest. */
		if (check_matters(t) && line_note(t, l, bits, write, at, pc) == LINE_NOTED)
			*noted = true;
		return;
	}
	if (!locked && end - at <= FEW) {
		for (; at < end; at = (at | 7) + 1)
			one_cell(t, at, write | check_bytes(at, end), fresh, noted);
		return;
	}
	if (!locked)
		rt_lock_ranked(lock, RT_STRIPE);
	for (; at < end; at = (at | 7) + 1) {
		struct shadow_cell *cell = shadow_make(SHADOW_DATA, at);

		uint64_t what = write | check_bytes(at, end);

		if (cell && (locked || !done_in_list(t, cell, what)))
			together(t, cell, at, what, fresh, noted);
	}
	if (!locked)
		rt_unlock(lock);
}

static void all_lines(struct rt_thread *t, uintptr_t address, uintptr_t end, uint64_t write,
		      uintptr_t pc, bool locked, bool *fresh, bool *noted)
{
	for (uintptr_t at = address, stop; at < end && check_on; at = stop) {
		stop = (at | (LINE_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		one_line(t, at, stop, write, pc, locked, fresh, noted);
	}
}

/* Where an edge came in it is noted, too: what it brought can be passed on. */
void check_access(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size, uintptr_t pc,
		  uint64_t *time)
{
	uint64_t write = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHADOW_WRITE;
	uintptr_t end = address + size;
	bool noted = false, fresh = false;

	if (RT_UNLIKELY(record_on))
		*time = record_now();
	if (RT_UNLIKELY(!t->slot || !check_on))
		return;
	if (RT_UNLIKELY(record_on)) {
		struct shadow_stripe *stripe = shadow_stripe(address);

		rt_lock_ranked(&stripe->lock, RT_STRIPE);
		*time = check_record_time(stripe);
		all_lines(t, address, end, write, pc, true, &fresh, &noted);
		rt_unlock(&stripe->lock);
	} else {
		all_lines(t, address, end, write, pc, false, &fresh, &noted);
	}
	if (noted || fresh) {
		if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
			history_put_sized(t, op, address, size, pc);
		else
			history_put(t, op, address, (uint32_t)size, pc);
	}
	check_report(t);
}

void check_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
		  uintptr_t pc)
{
	uintptr_t end = address + size, line = (address | (LINE_SIZE - 1)) + 1;
	uint64_t limit = t->limit, before = t->calm;
	bool noted = false, fresh = false;

	if (!t->slot || !check_on)
		return;
	if (RT_UNLIKELY(icd_on)) {
		icd_atomic(t, op, address, size, pc);
		return;
	}
	t->loaded = op == RAW_READ ? address : 0;
	if (rt_mode == RT_CHECKING)
		t->limit = check_atomic_limit(t);
	/* The next line has another lock; what reaches into it is atomic on no machine. */
	all_lines(t, address, end < line ? end : line, op == RAW_READ ? 0 : SHADOW_WRITE, pc, true,
		  &fresh, &noted);
	if (noted || fresh)
		history_put(t, op, address, size, pc);
	if (t->calm == before) /* no stretch began */
		t->limit = limit;
}

/* --- locks --- */

/* A lock is known by its first byte: two small ones may share a cell. */
static inline uint64_t lock_byte(uintptr_t address)
{
	return 1u << (address & 7);
}

static void lock_edges(struct rt_thread *t, struct words *ws, uintptr_t address, bool shared)
{
	uint32_t kept = 0;
	bool fresh = false;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];
		bool write = word & SHADOW_WRITE;

		if (word & lock_byte(address)) {
			/* Its own, where it has shared it before: it will give it back again. */
			if (check_mine(t, word)) {
				if (!shared && !write)
					continue;
			} else if (check_word_dead(word)) {
				check_behind_dead(t, word);
				if (!(shared && write))
					continue;
			} else if (!(shared && !write) && check_edge(t, word, &fresh) && !write) {
				continue;
			}
		}
		ws->v[kept++] = word;
	}
	ws->n = kept;
}

/* False: no memory, and the cell is as it was. */
static bool lock_store(struct rt_thread *t, struct words *ws, struct shadow_cell *cell,
		       uintptr_t address, bool shared)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];
		bool replaced = shared ? check_mine(t, word) && !(word & SHADOW_WRITE)
				       : (word & SHADOW_WRITE) != 0;

		if (!(replaced && word & lock_byte(address)))
			ws->v[kept++] = word;
	}
	ws->n = kept;
	return add(ws, cell, t->now | lock_byte(address) | (shared ? 0 : SHADOW_WRITE));
}

void check_lock(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address, int does,
		uint64_t *time)
{
	struct shadow_stripe *stripe = shadow_stripe(address);
	bool shared = does & CHECK_SHARED;
	struct words ws;

	if (!(does & CHECK_GIVES) && !record_on &&
	    !(__atomic_load_n(&cell->w[0], __ATOMIC_ACQUIRE) |
	      __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE)))
		return;
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	if (record_on)
		*time = check_record_time(stripe);
	unpack(&ws, cell);
	if (does & CHECK_TAKES)
		lock_edges(t, &ws, address, shared);
	if (!(does & CHECK_GIVES) || lock_store(t, &ws, cell, address, shared))
		pack(&ws, cell);
	rt_unlock(&stripe->lock);
}

void check_mutex_edges(struct rt_thread *t, struct shadow_cell *cell)
{
	bool fresh = false;

	for (int i = 0; i < 2; i++) {
		uint64_t word = cell->w[i];

		if (!word || check_mine(t, word))
			continue;
		if (check_word_dead(word))
			check_behind_dead(t, word);
		else
			check_edge(t, word, &fresh);
	}
}
