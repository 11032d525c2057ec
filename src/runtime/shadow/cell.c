#include "runtime/shadow/cell.h"

#include "base/banned.h"

bool (*cell_edge)(struct rt_thread *t, uint64_t word, bool *fresh);
uint8_t readers_written[READERS_WRITTEN];

/* Most edges bring nothing new. */
static bool cell_take_edge(struct rt_thread *t, uint64_t word, bool *fresh)
{
	return t->shadow.seen[shadow_slot(word)] >= (int64_t)word_time(word) ||
	       cell_edge(t, word, fresh);
}

/*
 * The thread may be at it: an entry counts that was the same before and after, and it is what
 * the thread did before whatever orders the two, if anything does.
 */
uint64_t cell_young_word(uint64_t word, uintptr_t address)
{
	const struct rt_repeat *table =
		__atomic_load_n(&slot_public[shadow_slot(word)].repeat, __ATOMIC_ACQUIRE);
	const struct rt_repeat *r = &table[address >> 3 & (RT_REPEATS - 1)];
	uint64_t young = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE);
	bool same = (__atomic_load_n(&r->address, __ATOMIC_ACQUIRE) & ~7ul) == (address & ~7ul);

	return same && __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) == young && young > word &&
			       !((young ^ word) & (SHADOW_WRITE | SHADOW_BYTES))
		       ? young
		       : word;
}

static uint64_t cell_kept_read(uint32_t slot, uint64_t readers, uintptr_t address)
{
	const struct rt_repeat *r = __atomic_load_n(&slot_public[slot].repeat, __ATOMIC_ACQUIRE);
	uint64_t word;

	if (!r)
		return 0;
	r += address >> 3 & (RT_REPEATS - 1);
	word = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&r->kept, __ATOMIC_ACQUIRE) != readers ||
	    (__atomic_load_n(&r->address, __ATOMIC_ACQUIRE) ^ address) & ~7ul ||
	    __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) != word)
		return 0;
	return word;
}

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
	return word && word_in_stretch(t, word) && word >= t->time.raised &&
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
	uint64_t fresh = t->time.now | what;
	int i = !word_is_mine(t, w[0]), other = !i;
	bool both;

	if (!word_is_mine(t, w[i]) || shadow_slot(w[other]) == SHADOW_LIST)
		return false;
	both = word_is_mine(t, w[other]);
	if (!both && word_conflicts(w[other], what))
		return false;
	if (!time_matters(t))
		return true; /* no edge can come from here, and nobody will ask */
	w[i] = word_is_dead(w[i]) ? 0 : behind_own(w[i], what);
	if (both)
		w[other] = word_is_dead(w[other]) ? 0 : behind_own(w[other], what);
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
		if (!word_is_dead(ws->v[i]))
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
	for (uint32_t i = 1, n = __atomic_load_n(&slot_count, __ATOMIC_ACQUIRE); i < n; i++) {
		uint64_t word = cell_kept_read(i, ws->readers, address);

		if (!word)
			continue;
		if (!word_is_dead(word)) {
			if (!add(ws, cell, word))
				return;
		} else if (i != t->slot && word_conflicts(word, what)) {
			time_after_dead(t, word);
		}
	}
	ws->readers = 0;
	readers_were_written(address);
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

uint64_t readers_new(void)
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

void cell_add(struct shadow_cell *cell, uint64_t added)
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

void cell_publish_kept(const struct rt_repeat *r)
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
		cell_add(cell, r->word);
	rt_unlock(&stripe->lock);
}

/* Edges from all words that conflict with `what`; those bytes are somebody else's afterwards. */
static void take_edges(struct rt_thread *t, struct words *ws, uint64_t what, bool *fresh)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];

		if (word_is_mine(t, word)) {
			word = behind_own(word, what);
		} else if (word_conflicts(word, what)) {
			if (word_is_dead(word)) {
				time_after_dead(t, word);
				continue;
			}
			if (!(word & SHADOW_WRITE))
				word = cell_young_word(word, t->shadow.at);
			/* The bytes that both have: a report wants to know. */
			if ((cell_take_edge(t, word & (what | ~(uint64_t)SHADOW_BYTES), fresh) ||
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
		uint64_t both = word_is_mine(t, ws->v[i]) ? merged(t, word, ws->v[i]) : 0;

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

	if (cell->w[1] || shadow_slot(word) >= SHADOW_NOBODY || word_is_mine(t, word))
		return false;
	if (word_conflicts(word, what)) {
		if (word_is_dead(word)) {
			time_after_dead(t, word);
			word = 0;
		} else if (!(word & SHADOW_WRITE) || !word_is_known(t, word)) {
			return false;
		} else if (what & SHADOW_WRITE) {
			word &= ~(what & SHADOW_BYTES);
		}
	}
	__atomic_store_n(&cell->w[1], word & SHADOW_BYTES ? word : 0, __ATOMIC_RELEASE);
	__atomic_store_n(&cell->w[0], t->time.now | what, __ATOMIC_RELEASE);
	return true;
}

/* Under the lock of its stripe. */
static void together(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address,
		     uint64_t what, bool *fresh, bool *noted)
{
	struct words ws;

	if (time_matters(t) && beside(t, cell, what)) {
		*noted = true;
		return;
	}
	unpack(&ws, cell);
	t->shadow.at = address & ~7ul;
	if (RT_UNLIKELY(ws.readers && what & SHADOW_WRITE))
		ask_readers(t, &ws, cell, address, what);
	take_edges(t, &ws, what, fresh);
	t->shadow.at = 0;
	if (time_matters(t)) {
		uint64_t word = t->time.now | what;

		for (uint32_t i = 0; i < ws.n && ws.n > 1; i++)
			if (word_is_mine(t, ws.v[i]) && alike(t, ws.v[i], what)) {
				word = merged_all(t, &ws, i) | what;
				break;
			}
		*noted = true;
		if (!add(&ws, cell, word))
			return;
		if (ws.n > 2)
			drop_dead(&ws);
		if (ws.n > 2 && !(what & SHADOW_WRITE) && !ws.readers && !shadow_serial &&
		    is_read_by_many(&ws) && readers_are_due(address))
			ws.readers = readers_new() | SHADOW_BYTES;
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

		if (word_is_dead(word))
			return false;
		if (word_is_mine(t, word))
			found |= (word & what) == what && word >= t->time.limit;
		else if (what & SHADOW_WRITE && word_conflicts(word, what))
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
	    (!time_matters(t) && cell_has_no_conflict(t, cell, what)))
		return;
	stripe = shadow_stripe(address);
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	together(t, cell, address, what, fresh, noted);
	rt_unlock(&stripe->lock);
}

void cell_access(struct rt_thread *t, uintptr_t address, uintptr_t end, uint64_t write, bool locked,
		 bool *fresh, bool *noted)
{
	enum { FEW = 16 }; /* bytes: an access that small may not need the lock */
	uint32_t *lock = &shadow_stripe(address)->lock;

	if (!locked && end - address <= FEW) {
		for (; address < end; address = (address | 7) + 1)
			one_cell(t, address, write | cell_bytes(address, end), fresh, noted);
		return;
	}
	if (!locked)
		rt_lock_ranked(lock, RT_STRIPE);
	for (; address < end; address = (address | 7) + 1) {
		struct shadow_cell *cell = shadow_make(SHADOW_DATA, address);
		uint64_t what = write | cell_bytes(address, end);

		if (cell && (locked || !done_in_list(t, cell, what)))
			together(t, cell, address, what, fresh, noted);
	}
	if (!locked)
		rt_unlock(lock);
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
			if (word_is_mine(t, word)) {
				if (!shared && !write)
					continue;
			} else if (word_is_dead(word)) {
				time_after_dead(t, word);
				if (!(shared && write))
					continue;
			} else if (!(shared && !write) && cell_take_edge(t, word, &fresh) &&
				   !write) {
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
		bool replaced = shared ? word_is_mine(t, word) && !(word & SHADOW_WRITE)
				       : (word & SHADOW_WRITE) != 0;

		if (!(replaced && word & lock_byte(address)))
			ws->v[kept++] = word;
	}
	ws->n = kept;
	return add(ws, cell, t->time.now | lock_byte(address) | (shared ? 0 : SHADOW_WRITE));
}

void cell_lock(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address, int does,
	       uint64_t *time)
{
	struct shadow_stripe *stripe = shadow_stripe(address);
	bool shared = does & CELL_SHARED;
	struct words ws;

	if (!(does & CELL_GIVES) && !shadow_serial &&
	    !(__atomic_load_n(&cell->w[0], __ATOMIC_ACQUIRE) |
	      __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE)))
		return;
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	if (shadow_serial)
		*time = shadow_stamp(stripe);
	unpack(&ws, cell);
	if (does & CELL_TAKES)
		lock_edges(t, &ws, address, shared);
	if (!(does & CELL_GIVES) || lock_store(t, &ws, cell, address, shared))
		pack(&ws, cell);
	rt_unlock(&stripe->lock);
}

void cell_mutex_edges(struct rt_thread *t, struct shadow_cell *cell)
{
	bool fresh = false;

	for (int i = 0; i < 2; i++) {
		uint64_t word = cell->w[i];

		if (!word || word_is_mine(t, word))
			continue;
		if (word_is_dead(word))
			time_after_dead(t, word);
		else
			cell_take_edge(t, word, &fresh);
	}
}
