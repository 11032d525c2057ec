#include "runtime/shadow/owned_line.h"

#include "base/banned.h"

/* All bits of the cells that these bits are in. */
static uint64_t whole_cells(uint64_t bits)
{
	bits |= bits >> 4;
	bits |= bits >> 2;
	bits |= bits >> 1;
	return (bits & 0x0101010101010101ull) * 0xff;
}

static uint64_t cells_of(uint64_t bits)
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < 8; i++)
		cells |= (uint64_t)((bits >> 8 * i & 0xff) != 0) << i;
	return cells;
}

/* Where it did what it does again, for reports: see make_young() in access.c. */
static void keep_place(struct rt_thread *t, uint64_t bits, bool write, uintptr_t address,
		       uintptr_t pc)
{
	struct rt_repeat *r = &t->shadow.repeat[address >> 3 & (RT_REPEATS - 1)];
	uint64_t bytes = bits >> (address & 56) & SHADOW_BYTES;

	if (r->kept && r->word >= t->time.dead)
		return;
	__atomic_store_n(&r->word, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->address, address, __ATOMIC_RELEASE);
	__atomic_store_n(&r->kept, 0, __ATOMIC_RELEASE);
	r->pc = pc;
	__atomic_store_n(&r->word, t->time.now | bytes | (write ? SHADOW_WRITE : 0),
			 __ATOMIC_RELEASE);
}

/* With a recording the one lock there is is held already, and so is an atomic operation's. */
static uint32_t *lock(uintptr_t address)
{
	uint32_t *it = &shadow_stripe(address)->lock;

	if (shadow_serial || rt_self.shadow.atomic_lock == it)
		return NULL;
	rt_lock_ranked(it, RT_STRIPE);
	return it;
}

static void unlock(uint32_t *it)
{
	if (it)
		rt_unlock(it);
}

/* What a thread did, as words. False: nobody is interested. */
static bool tell_cells(uint64_t head, uint64_t r, uint64_t w, uint64_t young, uintptr_t address)
{
	struct shadow_cell *cell = shadow_make(SHADOW_DATA, address & ~(uintptr_t)(LINE_SIZE - 1));

	if (word_is_dead(head)) {
		/* Whoever comes here next comes after it. */
		if (rt_self.slot && !word_is_mine(&rt_self, head))
			time_after_dead(&rt_self, head);
		return false;
	}
	if (rt_self.slot && !word_is_mine(&rt_self, head))
		time_after(&rt_self, head);
	/* A store of somebody who had the line before, and was late with it, is nothing. */
	if ((young ^ head) >> SHADOW_SLOT_SHIFT)
		young = 0;
	for (uint32_t i = 0; cell && i < 8; i++, cell++) {
		uint64_t wrote = w >> 8 * i & SHADOW_BYTES,
			 read = r >> 8 * i & SHADOW_BYTES & ~wrote;
		uint64_t age =
			(young >> i & 1 ? young : head) & ~(uint64_t)(SHADOW_WRITE | SHADOW_BYTES);

		if (wrote)
			cell_add(cell, age | SHADOW_WRITE | wrote);
		if (read)
			cell_add(cell, age | read);
	}
	return true;
}

/*
 * What the thread did with a line, in this stretch, is older than the function that is open, or
 * than the thread's clock. LINE_NOTED: the bits are to be set. LINE_CELLS: an age begins. With a
 * recording all of them are told apart.
 */
static enum line_outcome again(struct rt_thread *t, uint64_t head, uint64_t r, uint64_t w,
			       uint64_t *age, uint64_t bits, bool write, uintptr_t address,
			       uintptr_t pc)
{
	uint64_t whole = whole_cells(bits), cells = cells_of(bits), young = *age;
	bool current = young >= t->time.limit && young >= t->time.raised;
	bool known = !(bits & ~(write ? w : r));

	if (known && head >= t->time.limit)
		return LINE_KNOWN;
	if (shadow_serial || (word_in_stretch(t, young) && !current))
		return LINE_CELLS;
	/* One that goes on with it had better find it its own. */
	if (known && ((current && !(cells & ~young)) || (r & whole) != bits ||
		      (w & whole) != (write ? bits : 0)))
		return LINE_CELLS;
	if (!known && r & whole)
		return LINE_CELLS;
	/* Where somebody takes the line `young` is for something else by now. */
	if (!__atomic_compare_exchange_n(age, &young, (current ? young : t->time.now) | cells,
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return LINE_CELLS;
	if (known)
		keep_place(t, bits, write, address, pc);
	return known ? LINE_KNOWN : LINE_NOTED;
}

/*
 * It is the thread's, and another age begins; or it was another's, who is at something else by now,
 * and all that one did with it is known to be before what the thread does. What was done so far is
 * told to the cells, and the line is the thread's.
 */
static enum line_outcome begin_age(struct rt_thread *t, struct shadow_line *l, uint64_t head,
				   uint64_t bits, bool write, uintptr_t address)
{
	uint64_t busy = t->time.now | LINE_BUSY | LINE_USED_CELLS;
	uint32_t *it = lock(address);
	bool mine = __atomic_compare_exchange_n(&l->head, &head, busy, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED);

	if (mine) {
		tell_cells(head, l->r, l->w, l->young, address);
		l->r = bits;
		l->w = write ? bits : 0;
		l->young = 0;
		/* The time may have gone up: tell_cells(). */
		__atomic_store_n(&l->head, t->time.now | LINE_USED_CELLS | LINE_BENEATH,
				 __ATOMIC_RELEASE);
	}
	unlock(it);
	return mine ? LINE_NOTED : LINE_CELLS;
}

enum line_outcome line_again(struct rt_thread *t, struct shadow_line *l, uint64_t head,
			     uint64_t bits, bool write, uintptr_t address, uintptr_t pc)
{
	uint64_t r = l->r, w = l->w;
	enum line_outcome one = again(t, head, r, w, &l->young, bits, write, address, pc);

	if (one == LINE_CELLS)
		return begin_age(t, l, head, bits, write, address);
	if (one == LINE_KNOWN)
		return one;
	__atomic_store_n(&l->r, r | bits, __ATOMIC_RELAXED);
	if (write)
		__atomic_store_n(&l->w, w | bits, __ATOMIC_RELAXED);
	RT_COMPILER_BARRIER();
	return __atomic_load_n(&l->head, __ATOMIC_RELAXED) == head ? LINE_NOTED : LINE_CELLS;
}

/* --- what several read --- */

/* The thread's entry for the line, or one that is of no interest any more; NULL: there is none. */
static struct rt_read *find_read(struct rt_thread *t, uint64_t kept, uintptr_t address)
{
	struct rt_read *any = NULL;

	for (uint32_t i = 0; i < 2; i++) {
		struct rt_read *e = line_read(t->shadow.reads, address, i);

		if (e->kept == kept)
			return e;
		if (!any && (!e->kept || e->head < t->time.dead))
			any = e; /* and so is what is older */
	}
	return any;
}

/*
 * A stretch begins for an entry: it is for this line, and has read nothing but this. Others may be
 * looking at it. What it read before is dead, or has been read again, or goes to what is old.
 * There, stretches of one transaction are one, with the time of the first: all of it is told by the
 * history, and for the verdict a transaction is one. False: they are not of one.
 */
static bool begin_read(struct rt_thread *t, struct rt_read *e, uint64_t kept, uint64_t bits)
{
	struct rt_read_old *o = line_read_old(t->shadow.reads, e);
	bool same = e->kept == kept, old = same && e->head & RT_READ_OLD && o->head >= t->time.dead;

	if (same && e->head >= t->time.dead && e->r & ~bits) {
		uint64_t head = old ? o->head : e->head, r = e->r | (old ? o->r : 0);

		if (old && (!t->blocks.txn || head < t->blocks.txn_begin))
			return false;
		__atomic_store_n(&e->kept, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&o->r, r, __ATOMIC_RELEASE);
		__atomic_store_n(&o->head, head, __ATOMIC_RELEASE);
		old = true;
	}
	line_begin_read(e, kept, t->time.now | (old ? RT_READ_OLD : 0), bits);
	return true;
}

static enum line_outcome note_read(struct rt_thread *t, struct shadow_line *l, uint64_t kept,
				   uint64_t bits, uintptr_t address, uintptr_t pc)
{
	struct rt_read *e = find_read(t, kept, address);
	enum line_outcome one = LINE_NOTED;

	if (!e) {
		readers_were_written(address); /* too many at a time: not this one again, so soon */
		return LINE_CELLS;
	}
	if (e->kept != kept || !word_in_stretch(t, e->head)) {
		if (!begin_read(t, e, kept, bits))
			return LINE_CELLS;
	} else {
		if (e->head < t->time.limit || e->head < t->time.raised)
			one = again(t, e->head, e->r, 0, &e->young, bits, false, address, pc);
		else if (!(bits & ~e->r))
			one = LINE_KNOWN;
		if (one == LINE_CELLS && begin_read(t, e, kept, bits))
			one = LINE_NOTED;
		else if (one == LINE_NOTED)
			__atomic_store_n(&e->r, e->r | bits, __ATOMIC_RELAXED);
	}
	RT_COMPILER_BARRIER();
	return __atomic_load_n(&l->head, __ATOMIC_RELAXED) == kept ? one : LINE_CELLS;
}

/* One thread has read it, and another one comes to read it, too. */
static bool let_read(struct shadow_line *l, uint64_t head, uintptr_t address)
{
	uint64_t kept;

	if (shadow_serial || l->w || head & LINE_BENEATH ||
	    !readers_are_due(address & ~(uintptr_t)(LINE_SIZE - 1)))
		return false;
	kept = readers_new() | (head & LINE_USED_CELLS);
	if (!__atomic_compare_exchange_n(&l->head, &head, kept | LINE_BUSY, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&l->w, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&l->head, head, __ATOMIC_RELEASE);
		return false;
	}
	/* Should the first one set bits just now, its head is still one of its words. */
	__atomic_store_n(&l->young, head, __ATOMIC_RELEASE);
	__atomic_store_n(&l->head, kept, __ATOMIC_RELEASE);
	return true;
}

/* --- */

/* Was it handed on? Where there are words in the cells line_close() has to look at them. */
static bool is_handed_on(const struct rt_thread *t, const struct shadow_line *l, uint64_t head)
{
	uint64_t young = l->young;

	return !(head & LINE_BENEATH) && word_is_settled(t, head) &&
	       ((young ^ head) >> SHADOW_SLOT_SHIFT || word_is_settled(t, young));
}

/*
 * It is nobody's, or what its thread did is dead; or it was handed on; or it is the thread's own,
 * and what it does takes the place of all that it did; or several read it.
 */
enum line_outcome line_claim(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc)
{
	for (;;) {
		uint64_t head = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
		uint64_t flags = head & LINE_USED_CELLS;
		bool mine = word_is_mine(t, head);

		if (head & LINE_BUSY || line_is_in_cells(head))
			return LINE_CELLS;
		if (shadow_readers(head))
			return write ? LINE_CELLS : note_read(t, l, head, bits, address, pc);
		if (mine && head >= t->time.dead && (l->r & ~bits || (l->w && !write)))
			return begin_age(t, l, head, bits, write, address);
		if (mine && head >= t->time.dead)
			flags |= head & LINE_BENEATH;
		if (shadow_slot(head) && !mine) {
			if (!word_is_dead(head)) {
				if (!write && let_read(l, head, address))
					continue;
				return is_handed_on(t, l, head)
					       ? begin_age(t, l, head, bits, write, address)
					       : LINE_CELLS;
			}
			if ((write ? l->r : l->w) & bits)
				time_after_dead(t, head);
		}
		if (!__atomic_compare_exchange_n(&l->head, &head, t->time.now | LINE_BUSY | flags,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		l->r = bits;
		l->w = write ? bits : 0;
		l->young = 0;
		__atomic_store_n(&l->head, t->time.now | flags, __ATOMIC_RELEASE);
		return LINE_NOTED;
	}
}

/*
 * Whoever claims it needs a few instructions for that, and a processor. One that was in a forked
 * process's parent does not come back.
 */
static void wait_for_claim(struct shadow_line *l, uint64_t head)
{
	enum { SPINS = 100, YIELDS = 1000 };

	for (uint32_t i = 0; __atomic_load_n(&l->head, __ATOMIC_ACQUIRE) == head; i++) {
		uint64_t old = head;

		if (i < SPINS)
			__builtin_ia32_pause();
		else if (i < YIELDS)
			rt_yield();
		else if (!shadow_forked)
			rt_nap();
		else
			__atomic_compare_exchange_n(&l->head, &old, LINE_USED_CELLS, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

/* Somebody writes, or cannot keep what it has read: what all have read is told. */
static bool tell_reads(const struct shadow_line *l, uint64_t kept, uintptr_t address)
{
	bool told = kept & LINE_BENEATH || tell_cells(l->young, l->r, 0, 0, address);

	for (uint32_t i = 1, n = __atomic_load_n(&slot_count, __ATOMIC_ACQUIRE); i < n; i++) {
		struct rt_read *table = __atomic_load_n(&slot_public[i].reads, __ATOMIC_ACQUIRE);

		for (uint32_t k = 0; table && k < 2; k++) {
			struct rt_read *e = line_read(table, address, k);
			const struct rt_read_old *o = line_read_old(table, e);
			uint64_t head = __atomic_load_n(&e->head, __ATOMIC_ACQUIRE);
			uint64_t r = __atomic_load_n(&e->r, __ATOMIC_ACQUIRE);
			uint64_t young = __atomic_load_n(&e->young, __ATOMIC_ACQUIRE);
			uint64_t old = head & RT_READ_OLD
					       ? __atomic_load_n(&o->head, __ATOMIC_ACQUIRE)
					       : 0;
			uint64_t old_r = old ? __atomic_load_n(&o->r, __ATOMIC_ACQUIRE) : 0;

			if (__atomic_load_n(&e->kept, __ATOMIC_ACQUIRE) != kept ||
			    __atomic_load_n(&e->head, __ATOMIC_ACQUIRE) != head)
				continue;
			if (old)
				told |= tell_cells(old, old_r, 0, 0, address);
			told |= tell_cells(head, r, 0, young, address);
		}
	}
	readers_were_written(address & ~(uintptr_t)(LINE_SIZE - 1));
	return told;
}

/* Under the lock. */
static bool open_locked(struct shadow_line *l, uintptr_t address)
{
	for (;;) {
		uint64_t head = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
		bool told = true;

		if (head == LINE_IN_CELLS)
			return true;
		if (head & LINE_BUSY) {
			wait_for_claim(l, head);
			continue;
		}
		if (!__atomic_compare_exchange_n(&l->head, &head, LINE_IN_CELLS | LINE_BUSY, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (shadow_readers(head))
			told = tell_reads(l, head, address);
		else if (shadow_slot(head))
			tell_cells(head, l->r, l->w, l->young, address);
		/* Whose it was last, and that nobody has asked in vain. */
		__atomic_store_n(&l->young, (shadow_readers(head) ? l->young : head) & ~LINE_LOW,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&l->head, told ? LINE_IN_CELLS : LINE_USED_CELLS,
				 __ATOMIC_RELEASE);
		return told;
	}
}

bool line_open(struct shadow_line *l, uintptr_t address)
{
	uint32_t *it = lock(address);
	bool in_cells = open_locked(l, address);

	unlock(it);
	return in_cells;
}

/* Whose words in the cells are of interest? What the thread knows to be before it is as its own. */
enum whose { NOBODYS, OWN, OTHERS };

static enum whose whose_word(const struct rt_thread *t, uint64_t word)
{
	if (!word || (shadow_slot(word) < SHADOW_NOBODY && word_is_dead(word)))
		return NOBODYS;
	return word_is_mine(t, word) || word_is_settled(t, word) ? OWN : OTHERS;
}

static enum whose whose_cells(const struct rt_thread *t, const struct shadow_cell *cell)
{
	enum whose all = NOBODYS;

	for (uint32_t i = 0; i < 16 && all != OTHERS; i++) {
		uint64_t word = __atomic_load_n(&cell[i / 2].w[i % 2], __ATOMIC_ACQUIRE);
		const struct shadow_list *list = shadow_list(word);
		enum whose one = list ? NOBODYS : whose_word(t, word);

		/* It may be freed at any time, not unmapped. */
		for (uint32_t k = 0; list && k < list->n && k < list->cap && one != OTHERS; k++) {
			enum whose in = whose_word(t, list->w[k]);

			one = in > one ? in : one;
		}
		all = one > all ? one : all;
	}
	return all;
}

/* What is dead, and conflicts, comes before. */
static void come_behind(struct rt_thread *t, const struct shadow_cell *cell)
{
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t k = 0; k < 2; k++) {
			uint64_t word = cell[i].w[k];

			if (word && shadow_slot(word) < SHADOW_NOBODY && !word_is_mine(t, word))
				time_after_dead(t, word);
		}
}

/* Is the thread whose line it was in the stretch that it had it in? It may be about to set bits. */
static bool is_in_use(const struct rt_thread *t, uint64_t last)
{
	return shadow_slot(last) && !word_is_mine(t, last) &&
	       (shadow_step(last) & (SHADOW_TIMES * 2 - 1)) >=
		       __atomic_load_n(&slot_public[shadow_slot(last)].stretch, __ATOMIC_ACQUIRE);
}

/* Have all whose words are of interest only read it? */
static bool is_only_read(const struct shadow_cell *cell)
{
	for (uint32_t i = 0; i < 16; i++) {
		uint64_t word = __atomic_load_n(&cell[i / 2].w[i % 2], __ATOMIC_ACQUIRE);

		if (word && (shadow_slot(word) == SHADOW_LIST ||
			     (word & SHADOW_WRITE && !word_is_dead(word))))
			return false;
	}
	return true;
}

enum line_outcome line_close(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc)
{
	uintptr_t start = address & ~(uintptr_t)(LINE_SIZE - 1);
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, start);
	uint64_t kept = 0;
	enum whose whose;
	bool in_cells;
	uint32_t *it;

	if (!cell || ((l->young & LINE_LOW) >= LINE_VAIN && (write || !is_only_read(cell)) &&
		      (is_in_use(t, l->young) || whose_cells(t, cell) == OTHERS)))
		return LINE_CELLS;
	it = lock(address);
	in_cells = l->head == LINE_IN_CELLS;
	whose = in_cells && !is_in_use(t, l->young) ? whose_cells(t, cell) : OTHERS;
	if (in_cells && whose == OTHERS && !write && !shadow_serial && is_only_read(cell) &&
	    readers_are_due(start)) {
		kept = readers_new() | LINE_USED_CELLS | LINE_BENEATH;
		__atomic_store_n(&l->head, kept, __ATOMIC_RELEASE);
	} else if (in_cells && whose == OTHERS) {
		l->young += (l->young & LINE_LOW) < LINE_VAIN;
	} else if (in_cells) {
		come_behind(t, cell);
		l->r = bits;
		l->w = write ? bits : 0;
		l->young = 0;
		__atomic_store_n(&l->head,
				 t->time.now | LINE_USED_CELLS | (whose == OWN ? LINE_BENEATH : 0),
				 __ATOMIC_RELEASE);
	}
	unlock(it);
	if (kept)
		return note_read(t, l, kept, bits, address, pc);
	return whose != OTHERS ? LINE_NOTED : LINE_CELLS;
}

/* --- clearing --- */

/* Of a line, the cells that have a bit here. Under the lock. */
static void clear_cells(uintptr_t address, uint64_t bits)
{
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, address & ~(uintptr_t)(LINE_SIZE - 1));

	for (uint32_t i = 0; cell && i < 8; i++)
		if (bits >> 8 * i & 0xff)
			shadow_clear_cell(&cell[i]);
}

/* It is a thread's, or nobody's: false where it is not any more, or another's who is interested. */
static bool clear_own(struct shadow_line *l, uint64_t head, uint64_t bits)
{
	if (!word_is_mine(&rt_self, head) && shadow_slot(head) && !word_is_dead(head))
		return false;
	if (bits == ~0ull)
		return __atomic_compare_exchange_n(&l->head, &head, 0, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
	/* Should it become another's just now, these bits are nobody's there, either. */
	if (word_is_mine(&rt_self, head) && head >= rt_self.time.dead) {
		__atomic_fetch_and(&l->r, ~bits, __ATOMIC_SEQ_CST);
		__atomic_fetch_and(&l->w, ~bits, __ATOMIC_SEQ_CST);
	}
	return __atomic_load_n(&l->head, __ATOMIC_ACQUIRE) == head;
}

static void clear_line(struct shadow_line *l, uintptr_t address, uint64_t bits)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
	uint32_t *it = &shadow_stripe(address)->lock;
	bool simple = shadow_slot(head) < SHADOW_NOBODY && !(head & LINE_BUSY), done;

	if (!head)
		return;
	done = simple && clear_own(l, head, bits);
	if (done && !(head & LINE_USED_CELLS))
		return;
	rt_lock_ranked(it, RT_STRIPE);
	if (done || open_locked(l, address))
		clear_cells(address, bits);
	if (!done && bits == ~0ull)
		__atomic_store_n(&l->head, 0, __ATOMIC_RELEASE);
	rt_unlock(it);
}

/* From this size on pages are given back, which also makes them zero; lists in there are lost. */
enum { LARGE = 1 << 18 };

void line_clear(uintptr_t address, size_t bytes)
{
	uintptr_t end = (address + bytes + 7) & ~7ul;

	for (address &= ~7ul; address < end;) {
		uintptr_t stop = (address | ((1ul << SHADOW_REGION) - 1)) + 1;
		struct shadow_line *l = shadow_line_find(address);

		if (stop > end)
			stop = end;
		if (l && stop - address >= LARGE) {
			uintptr_t first = (address + LINE_SIZE - 1) & ~(uintptr_t)(LINE_SIZE - 1);
			uintptr_t last = stop & ~(uintptr_t)(LINE_SIZE - 1);

			if (first > address)
				clear_line(l, address, line_bits(address, stop));
			shadow_give_back(first, last);
			address = last;
			l = shadow_line_find(address);
		}
		for (; l && address < stop; address = (address | (LINE_SIZE - 1)) + 1, l++)
			clear_line(l, address, line_bits(address, stop));
		address = stop;
	}
}
