#include "runtime/shadow/cell.h"

#include "base/banned.h"

bool (*cell_edge)(struct rt_thread *t, uint64_t word, bool *fresh);
uint8_t readers_written[READERS_WRITTEN];

/* Take an edge from a word, unless it brings nothing new, as most do. False: it closes a cycle. */
static bool take_edge(struct rt_thread *t, uint64_t word, bool *fresh)
{
	return t->shadow.seen[shadow_slot(word)] >= (int64_t)word_time(word) ||
	       cell_edge(t, word, fresh);
}

/*
 * The word's thread may be changing the entry. The entry counts if it was the same before and
 * after: then the thread did this before whatever orders the two threads, if anything does.
 */
uint64_t cell_renewed_word(uint64_t word, uintptr_t address)
{
	const struct rt_repeat *table =
		__atomic_load_n(&slot_public[shadow_slot(word)].repeat, __ATOMIC_ACQUIRE);
	const struct rt_repeat *r = &table[address >> 3 & (RT_REPEATS - 1)];
	uint64_t renewed = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE);
	bool same = (__atomic_load_n(&r->address, __ATOMIC_ACQUIRE) & ~7ul) == (address & ~7ul);

	return same && __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) == renewed && renewed > word &&
			       !((renewed ^ word) & (SHADOW_WRITE | SHADOW_BYTES))
		       ? renewed
		       : word;
}

/* The read of a read-shared cell that the slot's thread keeps for itself; 0: there is none. */
static uint64_t find_own_read(uint32_t slot, uint64_t readers, uintptr_t address)
{
	const struct rt_repeat *r = __atomic_load_n(&slot_public[slot].repeat, __ATOMIC_ACQUIRE);
	uint64_t word;

	if (!r)
		return 0;
	r += address >> 3 & (RT_REPEATS - 1);
	word = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&r->in_cell, __ATOMIC_ACQUIRE) != readers ||
	    (__atomic_load_n(&r->address, __ATOMIC_ACQUIRE) ^ address) & ~7ul ||
	    __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) != word)
		return 0;
	return word;
}

/* The rest of a thread's own earlier access after it does `what`; 0: nothing is left. */
static inline uint64_t cut_own_word(uint64_t word, uint64_t what)
{
	if (what & SHADOW_WRITE || !(word & SHADOW_WRITE))
		word &= ~(what & SHADOW_BYTES);
	return word & SHADOW_BYTES ? word : 0;
}

/*
 * Can the thread's own word stand for `what`, too? Both must be of one stretch, both reads or both
 * writes, and of one clock: a thread that knows the older one would not take the clock of the
 * newer.
 */
static inline bool can_stand_for(const struct rt_thread *t, uint64_t word, uint64_t what)
{
	return word && word_in_stretch(t, word) && word >= t->time.raised &&
	       !((word ^ what) & SHADOW_WRITE);
}

/* One word of the older age for two of the thread's own; 0: one cannot stand for both. */
static inline uint64_t merge_words(const struct rt_thread *t, uint64_t a, uint64_t b)
{
	if (!can_stand_for(t, a, b) || !can_stand_for(t, b, a))
		return 0;
	return (a < b ? a : b) | ((a | b) & SHADOW_BYTES);
}

/*
 * Change the thread's own word without the lock: the cell has one, and the other is empty, also its
 * own, or does not conflict with this access. False: the lock is needed.
 *
 * Two words hold two ages. Of three, two of one stretch become one, of the older age. So an access
 * of an inner block may be taken for one of its caller, never the other way round.
 */
static inline bool change_own_word(struct rt_thread *t, struct shadow_cell *cell, uint64_t what,
				   bool *noted)
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
		return true; /* no edge comes in, and none will ever go out */
	w[i] = word_is_dead(w[i]) ? 0 : cut_own_word(w[i], what);
	if (both)
		w[other] = word_is_dead(w[other]) ? 0 : cut_own_word(w[other], what);
	if (both || !w[other]) {
		if (w[i] && w[other]) {
			int merge = can_stand_for(t, w[i], what) ? i : other;

			if (can_stand_for(t, w[merge], what)) {
				fresh = w[merge] | what;
				w[merge] = 0;
			} else {
				w[other] = merge_words(t, w[i], w[other]);
				w[i] = 0;
				if (!w[other])
					return false;
			}
		}
		__atomic_store_n(&cell->w[other], w[i] | w[other], __ATOMIC_RELAXED);
	} else if (w[i]) {
		if (!can_stand_for(t, w[i], what))
			return false;
		fresh = w[i] | what;
	}
	*noted = true;
	__atomic_store_n(&cell->w[i], fresh, __ATOMIC_RELAXED);
	return true;
}

/*
 * The words of a cell, while the stripe's lock is held: in the list if the cell has one, else in
 * `own`, which has room for one more than the cell.
 */
struct words {
	uint64_t *v;
	uint32_t n, cap;
	struct shadow_list *list;
	uint64_t readers; /* the word that stands for readers; 0: the cell is not read-shared */
	uint64_t own[3];
};

/* Does a word hold an access? */
static inline bool is_access(uint64_t word)
{
	return shadow_slot(word) && shadow_slot(word) < SHADOW_NOBODY && word & SHADOW_BYTES;
}

static void words_load(struct words *ws, struct shadow_cell *cell)
{
	ws->list = shadow_list(cell->w[1]);
	ws->readers = shadow_readers(cell->w[0]) ? cell->w[0] : 0;
	/* A thread that does not take the lock may store its own word beside a list. */
	RT_ASSERT(!shadow_serial || !ws->list || !cell->w[0] || ws->readers);
	if (ws->list) {
		RT_ASSERT(ws->list->cell == cell && ws->list->n <= ws->list->cap);
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

static void words_drop_dead(struct words *ws)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < ws->n; i++)
		if (!word_is_dead(ws->v[i]))
			ws->v[left++] = ws->v[i];
	ws->n = left;
}

/* Add a word. False: no memory for a list, and nothing was changed. */
static bool words_add(struct words *ws, struct shadow_cell *cell, uint64_t word)
{
	RT_ASSERT(is_access(word));
	if (ws->n == ws->cap)
		words_drop_dead(ws);
	if (ws->n == ws->cap) {
		struct shadow_list *grown = shadow_list_new(cell, ws->cap + 1);

		if (!grown)
			return false;
		for (uint32_t i = 0; i < ws->n; i++)
			grown->w[i] = ws->v[i];
		if (ws->list) {
			/* A thread that looks at the cell without the lock finds one or the other.
			 */
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

/* Put the words back into the cell, or into a list if there are too many. */
static void words_store(struct words *ws, struct shadow_cell *cell)
{
	uint32_t room = ws->readers ? 1 : 2;

	if (ws->n > room)
		words_drop_dead(ws);
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

/* A read-shared cell is written: add the reads that the threads kept for themselves. */
static void words_add_readers(struct rt_thread *t, struct words *ws, struct shadow_cell *cell,
			      uintptr_t address, uint64_t what)
{
	for (uint32_t i = 1, n = __atomic_load_n(&slot_count, __ATOMIC_ACQUIRE); i < n; i++) {
		uint64_t word = find_own_read(i, ws->readers, address);

		if (!word)
			continue;
		if (!word_is_dead(word)) {
			if (!words_add(ws, cell, word))
				return;
		} else if (i != t->slot && word_conflicts(word, what)) {
			time_after_dead(t, word);
		}
	}
	ws->readers = 0;
	readers_were_written(address);
}

/* Are there reads of more than one thread? */
static bool words_have_many_readers(const struct words *ws)
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

/* The rest of a word after the access `added`. */
static inline uint64_t cut_word(uint64_t word, uint64_t added)
{
	if (shadow_slot(word) == shadow_slot(added) || added & SHADOW_WRITE)
		word = cut_own_word(word, added);
	return word;
}

void cell_add(struct shadow_cell *cell, uint64_t added)
{
	uint64_t w0 = cell->w[0], w1 = cell->w[1];
	uint32_t left = 0;
	struct words ws;

	RT_ASSERT(is_access(added) && shadow_cell_is_locked(cell));
	/* Usually at most one word is left. */
	if (shadow_slot(w0) < SHADOW_NOBODY && shadow_slot(w1) < SHADOW_NOBODY) {
		w0 = cut_word(w0, added);
		w1 = cut_word(w1, added);
		if (!w0 || !w1) {
			__atomic_store_n(&cell->w[1], w0 | w1, __ATOMIC_RELEASE);
			__atomic_store_n(&cell->w[0], added, __ATOMIC_RELEASE);
			return;
		}
	}
	words_load(&ws, cell);
	for (uint32_t i = 0; i < ws.n; i++) {
		uint64_t word = cut_word(ws.v[i], added);

		if (word)
			ws.v[left++] = word;
	}
	ws.n = left;
	if (words_add(&ws, cell, added))
		words_store(&ws, cell);
}

void cell_publish_repeat(const struct rt_repeat *r)
{
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, r->address);
	struct shadow_stripe *stripe = shadow_stripe(r->address);

	RT_ASSERT(cell && is_access(r->word));
	if (!shadow_readers(r->in_cell)) {
		for (int i = 0; i < 2; i++) {
			uint64_t old = r->in_cell;

			__atomic_compare_exchange_n(&cell->w[i], &old, r->word, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		}
		return;
	}
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	if (cell->w[0] == r->in_cell)
		cell_add(cell, r->word);
	rt_unlock(&stripe->lock);
}

/*
 * Take edges from all words that conflict with `what`. A write removes its bytes from the words,
 * except from reads whose edge would have closed a cycle (cell.h).
 */
static void words_take_edges(struct rt_thread *t, struct words *ws, uint64_t what, bool *fresh)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];

		switch (word_classify(t, word, what)) {
		case WORD_OWN:
			word = cut_own_word(word, what);
			break;
		case WORD_EMPTY:
		case WORD_DISJOINT:
			break;
		case WORD_DEAD:
			time_after_dead(t, word);
			continue;
		case WORD_ORDERED: /* but its thread may have renewed it since */
		case WORD_CONFLICTING:
			if (!(word & SHADOW_WRITE))
				word = cell_renewed_word(word, t->shadow.at);
			/* A report names the bytes that both accessed. */
			if ((take_edge(t, word & (what | ~(uint64_t)SHADOW_BYTES), fresh) ||
			     word & SHADOW_WRITE) &&
			    what & SHADOW_WRITE)
				word &= ~(what & SHADOW_BYTES);
			break;
		}
		if (word & SHADOW_BYTES)
			ws->v[left++] = word;
	}
	ws->n = left;
}

/* Take the word at `i` out, with all of the thread's words that can be merged with it. */
static uint64_t words_take_mergeable(const struct rt_thread *t, struct words *ws, uint32_t i)
{
	uint64_t word = ws->v[i];

	ws->v[i] = ws->v[--ws->n];
	while (i < ws->n) {
		uint64_t both = word_is_mine(t, ws->v[i]) ? merge_words(t, word, ws->v[i]) : 0;

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
 * Put the access beside the only word of the cell, if there is one, and it brings no edge: it is
 * another thread's, and does not conflict, is dead, or is a write that is ordered before this.
 */
static inline bool add_beside_other(struct rt_thread *t, struct shadow_cell *cell, uint64_t what)
{
	uint64_t word = cell->w[0];

	if (cell->w[1] || shadow_slot(word) >= SHADOW_NOBODY)
		return false;
	switch (word_classify(t, word, what)) {
	case WORD_OWN:
	case WORD_CONFLICTING:
		return false;
	case WORD_EMPTY:
	case WORD_DISJOINT:
		break;
	case WORD_DEAD:
		time_after_dead(t, word);
		word = 0;
		break;
	case WORD_ORDERED:
		/* A read may have been renewed since. */
		if (!(word & SHADOW_WRITE))
			return false;
		if (what & SHADOW_WRITE)
			word &= ~(what & SHADOW_BYTES);
	}
	__atomic_store_n(&cell->w[1], word & SHADOW_BYTES ? word : 0, __ATOMIC_RELEASE);
	__atomic_store_n(&cell->w[0], t->time.now | what, __ATOMIC_RELEASE);
	return true;
}

/* Access a cell under the lock of its stripe. */
static void access_cell_locked(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address,
			       uint64_t what, bool *fresh, bool *noted)
{
	struct words ws;

	RT_ASSERT(shadow_is_locked(address) && what & SHADOW_BYTES);
	if (time_matters(t) && add_beside_other(t, cell, what)) {
		*noted = true;
		return;
	}
	words_load(&ws, cell);
	t->shadow.at = address & ~7ul;
	if (RT_UNLIKELY(ws.readers && what & SHADOW_WRITE))
		words_add_readers(t, &ws, cell, address, what);
	words_take_edges(t, &ws, what, fresh);
	t->shadow.at = 0;
	if (time_matters(t)) {
		uint64_t word = t->time.now | what;

		for (uint32_t i = 0; i < ws.n && ws.n > 1; i++)
			if (word_is_mine(t, ws.v[i]) && can_stand_for(t, ws.v[i], what)) {
				word = words_take_mergeable(t, &ws, i) | what;
				break;
			}
		*noted = true;
		if (!words_add(&ws, cell, word))
			return;
		if (ws.n > 2)
			words_drop_dead(&ws);
		if (ws.n > 2 && !(what & SHADOW_WRITE) && !ws.readers && !shadow_serial &&
		    words_have_many_readers(&ws) && readers_are_due(address))
			ws.readers = readers_new() | SHADOW_BYTES;
	}
	words_store(&ws, cell);
}

/*
 * Does a list say that the thread did this already? Looks without the lock: the list may be freed
 * at any time, but is never unmapped. False also if it holds dead words, so that it gets shorter.
 */
static bool is_done_in_list(const struct rt_thread *t, const struct shadow_cell *cell,
			    uint64_t what)
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
			return false; /* another thread has read it since */
	}
	return found && __atomic_load_n(&cell->w[1], __ATOMIC_ACQUIRE) == tag;
}

static inline void access_cell(struct rt_thread *t, uintptr_t address, uint64_t what, bool *fresh,
			       bool *noted)
{
	struct shadow_cell *cell = shadow_make(SHADOW_DATA, address);
	struct shadow_stripe *stripe;

	if (!cell || change_own_word(t, cell, what, noted) || is_done_in_list(t, cell, what) ||
	    (!time_matters(t) && cell_has_no_conflict(t, cell, what)))
		return;
	stripe = shadow_stripe(address);
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	access_cell_locked(t, cell, address, what, fresh, noted);
	rt_unlock(&stripe->lock);
}

void cell_access(struct rt_thread *t, uintptr_t address, uintptr_t end, uint64_t write, bool locked,
		 bool *fresh, bool *noted)
{
	enum { FEW = 16 }; /* bytes; a larger access takes the lock at once */
	uint32_t *lock = &shadow_stripe(address)->lock;

	if (!locked && end - address <= FEW) {
		for (; address < end; address = (address | 7) + 1)
			access_cell(t, address, write | cell_bytes(address, end), fresh, noted);
		return;
	}
	if (!locked)
		rt_lock_ranked(lock, RT_STRIPE);
	for (; address < end; address = (address | 7) + 1) {
		struct shadow_cell *cell = shadow_make(SHADOW_DATA, address);
		uint64_t what = write | cell_bytes(address, end);

		if (cell && (locked || !is_done_in_list(t, cell, what)))
			access_cell_locked(t, cell, address, what, fresh, noted);
	}
	if (!locked)
		rt_unlock(lock);
}

/* --- locks --- */

/* A lock is identified by its first byte: two small ones may share a cell. */
static inline uint64_t lock_byte(uintptr_t address)
{
	return 1u << (address & 7);
}

/* Take edges from the former owners of a lock, and drop what the new owner replaces. */
static void words_take_lock_edges(struct rt_thread *t, struct words *ws, uintptr_t address,
				  bool shared)
{
	uint32_t left = 0;
	bool fresh = false;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];
		bool write = word & SHADOW_WRITE;

		if (word & lock_byte(address)) {
			switch (word_classify(t, word, SHADOW_WRITE | lock_byte(address))) {
			case WORD_OWN:
				/* Its release replaces its own shared use again. */
				if (!shared && !write)
					continue;
				break;
			case WORD_DEAD:
				time_after_dead(t, word);
				if (!(shared && write))
					continue;
				break;
			default:
				if (!(shared && !write) && take_edge(t, word, &fresh) && !write)
					continue;
			}
		}
		ws->v[left++] = word;
	}
	ws->n = left;
}

/* Add the release of a lock. False: no memory, and the cell is as it was. */
static bool words_add_release(struct rt_thread *t, struct words *ws, struct shadow_cell *cell,
			      uintptr_t address, bool shared)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < ws->n; i++) {
		uint64_t word = ws->v[i];
		bool replaced = shared ? word_is_mine(t, word) && !(word & SHADOW_WRITE)
				       : (word & SHADOW_WRITE) != 0;

		if (!(replaced && word & lock_byte(address)))
			ws->v[left++] = word;
	}
	ws->n = left;
	return words_add(ws, cell, t->time.now | lock_byte(address) | (shared ? 0 : SHADOW_WRITE));
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
	words_load(&ws, cell);
	if (does & CELL_TAKES)
		words_take_lock_edges(t, &ws, address, shared);
	if (!(does & CELL_GIVES) || words_add_release(t, &ws, cell, address, shared))
		words_store(&ws, cell);
	rt_unlock(&stripe->lock);
}

void cell_mutex_edge(struct rt_thread *t, const struct shadow_cell *cell)
{
	uint64_t word = cell->w[0];
	bool fresh = false;

	RT_ASSERT(!cell->w[1]);
	switch (word_classify(t, word, SHADOW_WRITE | SHADOW_BYTES)) {
	case WORD_DEAD:
		time_after_dead(t, word);
		break;
	case WORD_CONFLICTING:
		take_edge(t, word, &fresh);
		break;
	default: /* empty, own, or ordered */
		break;
	}
}
