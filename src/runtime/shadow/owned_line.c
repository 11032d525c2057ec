#include "runtime/shadow/owned_line.h"

#include "base/banned.h"

/* --- bits of a line --- */

/* All bits of the cells that these bits are in. */
static uint64_t widen_to_cells(uint64_t bits)
{
	bits |= bits >> 4;
	bits |= bits >> 2;
	bits |= bits >> 1;
	return (bits & 0x0101010101010101ull) * 0xff;
}

/* A bit for each of the 8 cells that these bits are in. */
static uint64_t mark_cells(uint64_t bits)
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < 8; i++)
		cells |= (uint64_t)((bits >> 8 * i & 0xff) != 0) << i;
	return cells;
}

static uintptr_t line_start(uintptr_t address)
{
	return address & ~(uintptr_t)(LINE_SIZE - 1);
}

/* Keep the place of an access that renewed older ones, for reports: see renew_word() in
 * frontier/access.c.
 */
static void keep_place(struct rt_thread *t, uint64_t bits, bool write, uintptr_t address,
		       uintptr_t pc)
{
	struct rt_repeat *r = &t->shadow.repeat[address >> 3 & (RT_REPEATS - 1)];
	uint64_t bytes = bits >> (address & 56) & SHADOW_BYTES;

	if (r->in_cell && r->word >= t->time.dead)
		return;
	__atomic_store_n(&r->word, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->address, address, __ATOMIC_RELEASE);
	__atomic_store_n(&r->in_cell, 0, __ATOMIC_RELEASE);
	r->pc = pc;
	__atomic_store_n(&r->word, t->time.now | bytes | (write ? SHADOW_WRITE : 0),
			 __ATOMIC_RELEASE);
}

/*
 * Take the stripe's lock. Returns NULL if the thread holds it already: in serial mode, and in an
 * atomic operation.
 */
static uint32_t *lock_stripe(uintptr_t address)
{
	uint32_t *lock = &shadow_stripe(address)->lock;

	if (shadow_serial || rt_self.shadow.atomic_lock == lock) {
		RT_ASSERT(shadow_is_locked(address));
		return NULL;
	}
	rt_lock_ranked(lock, RT_STRIPE);
	return lock;
}

static void unlock_stripe(uint32_t *lock)
{
	if (lock)
		rt_unlock(lock);
}

/*
 * Add what a thread did with a line to its cells, as words. Under the stripe's lock. The running
 * thread's clock goes above that thread's. False: those steps are dead, and nothing was added.
 */
static bool add_to_cells(uint64_t head, uint64_t r, uint64_t w, uint64_t renewed, uintptr_t address)
{
	struct shadow_cell *cell = shadow_make(SHADOW_DATA, line_start(address));

	RT_ASSERT(shadow_is_locked(address));
	RT_ASSERT(shadow_slot(head) && shadow_slot(head) < SHADOW_NOBODY);
	if (word_is_dead(head)) {
		if (rt_self.slot && !word_is_mine(&rt_self, head))
			time_after_dead(&rt_self, head);
		return false;
	}
	if (rt_self.slot && !word_is_mine(&rt_self, head))
		time_after(&rt_self, head);
	/* Ignore a late store of a thread that owned the line before. */
	if ((renewed ^ head) >> SHADOW_SLOT_SHIFT)
		renewed = 0;
	RT_ASSERT(!renewed || word_time(renewed) > word_time(head));
	for (uint32_t i = 0; cell && i < 8; i++, cell++) {
		uint64_t wrote = w >> 8 * i & SHADOW_BYTES,
			 read = r >> 8 * i & SHADOW_BYTES & ~wrote;
		uint64_t age = (renewed >> i & 1 ? renewed : head) &
			       ~(uint64_t)(SHADOW_WRITE | SHADOW_BYTES);

		if (wrote)
			cell_add(cell, age | SHADOW_WRITE | wrote);
		if (read)
			cell_add(cell, age | read);
	}
	return true;
}

/* --- ages: two for each owned line --- */

/*
 * What the thread did with a line in this stretch is older than the open function, or than the
 * thread's clock. Can `*renewed` express the access? LINE_KNOWN: it does now. LINE_NOTED: it does,
 * and the bits are to be set. LINE_NEEDS_CELLS: no, a third age begins. In serial mode all ages
 * are distinguished.
 */
static enum line_outcome renew_cells(struct rt_thread *t, uint64_t head, uint64_t r, uint64_t w,
				     uint64_t *renewed, uint64_t bits, bool write,
				     uintptr_t address, uintptr_t pc)
{
	uint64_t whole = widen_to_cells(bits), cells = mark_cells(bits), old = *renewed;
	bool current = old >= t->time.limit && old >= t->time.raised;
	bool known = !(bits & ~(write ? w : r));

	if (known && head >= t->time.limit)
		return LINE_KNOWN;
	if (shadow_serial || (word_in_stretch(t, old) && !current))
		return LINE_NEEDS_CELLS;
	/* If the thread goes on with these cells it had better find the line its own. */
	if (known && ((current && !(cells & ~old)) || (r & whole) != bits ||
		      (w & whole) != (write ? bits : 0)))
		return LINE_NEEDS_CELLS;
	if (!known && r & whole)
		return LINE_NEEDS_CELLS;
	/* Another thread that takes the line uses the field for something else. */
	if (!__atomic_compare_exchange_n(renewed, &old, (current ? old : t->time.now) | cells,
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return LINE_NEEDS_CELLS;
	if (known)
		keep_place(t, bits, write, address, pc);
	return known ? LINE_KNOWN : LINE_NOTED;
}

/*
 * Make the line the thread's, with this access alone; what was done with it before goes to the
 * cells. Either it is the thread's already, and another age begins; or it was handed on. Fails with
 * LINE_NEEDS_CELLS if the head has changed.
 */
static enum line_outcome line_begin_age(struct rt_thread *t, struct shadow_line *l, uint64_t head,
					uint64_t bits, bool write, uintptr_t address)
{
	uint64_t busy = t->time.now | LINE_BUSY | LINE_USED_CELLS;
	uint32_t *lock = lock_stripe(address);
	bool mine = __atomic_compare_exchange_n(&l->head, &head, busy, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED);

	RT_ASSERT(!mine ||
		  (line_state(head) == LINE_OWNED && line_head_is_valid(head) && !(l->w & ~l->r)));
	if (mine) {
		add_to_cells(head, l->r, l->w, l->renewed, address);
		l->r = bits;
		l->w = write ? bits : 0;
		l->renewed = 0;
		/* The time may have gone up in add_to_cells(). */
		__atomic_store_n(&l->head, t->time.now | LINE_USED_CELLS | LINE_BENEATH,
				 __ATOMIC_RELEASE);
	}
	unlock_stripe(lock);
	return mine ? LINE_NOTED : LINE_NEEDS_CELLS;
}

enum line_outcome line_extend_age(struct rt_thread *t, struct shadow_line *l, uint64_t head,
				  uint64_t bits, bool write, uintptr_t address, uintptr_t pc)
{
	uint64_t r = l->r, w = l->w;
	enum line_outcome one = renew_cells(t, head, r, w, &l->renewed, bits, write, address, pc);

	RT_ASSERT(word_in_stretch(t, head));
	if (one == LINE_NEEDS_CELLS)
		return line_begin_age(t, l, head, bits, write, address);
	if (one == LINE_KNOWN)
		return one;
	__atomic_store_n(&l->r, r | bits, __ATOMIC_RELAXED);
	if (write)
		__atomic_store_n(&l->w, w | bits, __ATOMIC_RELAXED);
	RT_COMPILER_BARRIER();
	if (__atomic_load_n(&l->head, __ATOMIC_RELAXED) != head)
		return LINE_NEEDS_CELLS;
	RT_ASSERT(!(w & ~r));
	return LINE_NOTED;
}

/* --- read-shared lines --- */

/* The thread's entry for the line, or else one that is free or dead. NULL: there is none. */
static struct rt_read *find_read_entry(struct rt_thread *t, uint64_t shared_head, uintptr_t address)
{
	struct rt_read *any = NULL;

	for (uint32_t i = 0; i < 2; i++) {
		struct rt_read *e = line_read_entry(t->shadow.reads, address, i);

		if (e->shared_head == shared_head)
			return e;
		if (!any && (!e->shared_head || e->head < t->time.dead))
			any = e; /* its older reads are dead, too */
	}
	return any;
}

/*
 * Begin a stretch of an entry: it is for this line, with this read alone. Other threads may be
 * looking at it. What the thread had read before is dead, or read again now, or goes to the old
 * reads. There, several stretches of one transaction become one, with the time of the first: the
 * history has the details, and for the verdict a transaction is one. False: there are old reads of
 * another transaction.
 */
static bool begin_read_stretch(struct rt_thread *t, struct rt_read *e, uint64_t shared_head,
			       uint64_t bits)
{
	struct rt_read_old *o = line_read_entry_old(t->shadow.reads, e);
	bool same = e->shared_head == shared_head,
	     old = same && e->head & RT_READ_OLD && o->head >= t->time.dead;

	if (same && e->head >= t->time.dead && e->r & ~bits) {
		uint64_t head = old ? o->head : e->head, r = e->r | (old ? o->r : 0);

		RT_ASSERT(!old || o->head <= e->head);
		if (old && (!t->blocks.txn || head < t->blocks.txn_begin))
			return false;
		__atomic_store_n(&e->shared_head, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&o->r, r, __ATOMIC_RELEASE);
		__atomic_store_n(&o->head, head, __ATOMIC_RELEASE);
		old = true;
	}
	line_begin_read_entry(e, shared_head, t->time.now | (old ? RT_READ_OLD : 0), bits);
	return true;
}

/* Record a read of a read-shared line, whose head is `shared_head`. */
static enum line_outcome note_shared_read(struct rt_thread *t, struct shadow_line *l,
					  uint64_t shared_head, uint64_t bits, uintptr_t address,
					  uintptr_t pc)
{
	struct rt_read *e = find_read_entry(t, shared_head, address);
	enum line_outcome one = LINE_NOTED;

	RT_ASSERT(line_state(shared_head) == LINE_READ_SHARED);
	if (!e) {
		/* The thread reads too many lines at a time: do not share this one again soon. */
		readers_were_written(address);
		return LINE_NEEDS_CELLS;
	}
	if (e->shared_head != shared_head || !word_in_stretch(t, e->head)) {
		if (!begin_read_stretch(t, e, shared_head, bits))
			return LINE_NEEDS_CELLS;
	} else {
		if (e->head < t->time.limit || e->head < t->time.raised)
			one = renew_cells(t, e->head, e->r, 0, &e->renewed, bits, false, address,
					  pc);
		else if (!(bits & ~e->r))
			one = LINE_KNOWN;
		if (one == LINE_NEEDS_CELLS && begin_read_stretch(t, e, shared_head, bits))
			one = LINE_NOTED;
		else if (one == LINE_NOTED)
			__atomic_store_n(&e->r, e->r | bits, __ATOMIC_RELAXED);
	}
	RT_COMPILER_BARRIER();
	return __atomic_load_n(&l->head, __ATOMIC_RELAXED) == shared_head ? one : LINE_NEEDS_CELLS;
}

/* One thread has only read the line, and another one comes to read it, too: make it read-shared. */
static bool share_for_reading(struct shadow_line *l, uint64_t head, uintptr_t address)
{
	uint64_t shared_head;

	RT_ASSERT(line_state(head) == LINE_OWNED);
	if (shadow_serial || l->w || head & LINE_BENEATH || !readers_are_due(line_start(address)))
		return false;
	shared_head = readers_new() | (head & LINE_USED_CELLS);
	if (!__atomic_compare_exchange_n(&l->head, &head, shared_head | LINE_BUSY, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&l->w, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&l->head, head, __ATOMIC_RELEASE);
		return false;
	}
	/* If the first reader sets bits just now, its head is still one of its words. */
	__atomic_store_n(&l->first_head, head, __ATOMIC_RELEASE);
	__atomic_store_n(&l->head, shared_head, __ATOMIC_RELEASE);
	return true;
}

/* --- claiming --- */

/*
 * Was the line handed on to the thread? If there are words in the cells beneath, line_close() has
 * to look at them.
 */
static bool is_handed_on(const struct rt_thread *t, const struct shadow_line *l, uint64_t head)
{
	uint64_t renewed = l->renewed;

	return !(head & LINE_BENEATH) && word_is_settled(t, head) &&
	       ((renewed ^ head) >> SHADOW_SLOT_SHIFT || word_is_settled(t, renewed));
}

/*
 * The line is unused, or its owner's accesses are dead; or it was handed on; or it is the thread's
 * own, and the access replaces all earlier ones; or it is read-shared.
 */
enum line_outcome line_claim(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc)
{
	for (;;) {
		uint64_t head = line_load_head(l);
		uint64_t flags = head & LINE_USED_CELLS;
		bool mine = word_is_mine(t, head);

		RT_ASSERT(line_head_is_valid(head));
		switch (line_state(head)) {
		case LINE_BEING_CLAIMED:
		case LINE_IN_CELLS:
			return LINE_NEEDS_CELLS;
		case LINE_READ_SHARED:
			return write ? LINE_NEEDS_CELLS
				     : note_shared_read(t, l, head, bits, address, pc);
		case LINE_UNUSED:
			break;
		case LINE_OWNED:
			if (mine && head >= t->time.dead) {
				if (l->r & ~bits || (l->w && !write))
					return line_begin_age(t, l, head, bits, write, address);
				flags |= head & LINE_BENEATH;
			} else if (!mine && !word_is_dead(head)) {
				if (!write && share_for_reading(l, head, address))
					continue;
				return is_handed_on(t, l, head)
					       ? line_begin_age(t, l, head, bits, write, address)
					       : LINE_NEEDS_CELLS;
			} else if (!mine && (write ? l->r : l->w) & bits) {
				time_after_dead(t, head);
			}
		}
		if (!__atomic_compare_exchange_n(&l->head, &head, t->time.now | LINE_BUSY | flags,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		l->r = bits;
		l->w = write ? bits : 0;
		l->renewed = 0;
		__atomic_store_n(&l->head, t->time.now | flags, __ATOMIC_RELEASE);
		return LINE_NOTED;
	}
}

/* --- opening: from the line to the cells --- */

/*
 * Wait until the thread that claims the line is done: it needs a few instructions, and a processor.
 * After a fork, that thread may not exist in this process; then its claim is ended for it.
 */
static void wait_for_claim(struct shadow_line *l, uint64_t head)
{
	enum { SPINS = 100, YIELDS = 1000 };

	RT_ASSERT(line_state(head) == LINE_BEING_CLAIMED);
	for (uint32_t i = 0; line_load_head(l) == head; i++) {
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

/*
 * A read-shared line is written, or a reader cannot keep its reads: add the reads of all threads to
 * the cells. False: all of them were dead.
 */
static bool add_shared_reads(const struct shadow_line *l, uint64_t shared_head, uintptr_t address)
{
	bool added = shared_head & LINE_BENEATH || add_to_cells(l->first_head, l->r, 0, 0, address);

	for (uint32_t i = 1, n = __atomic_load_n(&slot_count, __ATOMIC_ACQUIRE); i < n; i++) {
		struct rt_read *table = __atomic_load_n(&slot_public[i].reads, __ATOMIC_ACQUIRE);

		for (uint32_t k = 0; table && k < 2; k++) {
			struct rt_read *e = line_read_entry(table, address, k);
			const struct rt_read_old *o = line_read_entry_old(table, e);
			uint64_t head = __atomic_load_n(&e->head, __ATOMIC_ACQUIRE);
			uint64_t r = __atomic_load_n(&e->r, __ATOMIC_ACQUIRE);
			uint64_t renewed = __atomic_load_n(&e->renewed, __ATOMIC_ACQUIRE);
			uint64_t old = head & RT_READ_OLD
					       ? __atomic_load_n(&o->head, __ATOMIC_ACQUIRE)
					       : 0;
			uint64_t old_r = old ? __atomic_load_n(&o->r, __ATOMIC_ACQUIRE) : 0;

			if (__atomic_load_n(&e->shared_head, __ATOMIC_ACQUIRE) != shared_head ||
			    __atomic_load_n(&e->head, __ATOMIC_ACQUIRE) != head)
				continue;
			RT_ASSERT(shadow_slot(head) == i && (!old || shadow_slot(old) == i));
			if (old)
				added |= add_to_cells(old, old_r, 0, 0, address);
			added |= add_to_cells(head, r, 0, renewed, address);
		}
	}
	readers_were_written(line_start(address));
	return added;
}

/* line_open(), under the stripe's lock. */
static bool open_locked(struct shadow_line *l, uintptr_t address)
{
	RT_ASSERT(shadow_is_locked(address));
	for (;;) {
		uint64_t head = line_load_head(l), last;
		bool added = true;

		RT_ASSERT(line_head_is_valid(head));

		if (line_is_in_cells(head))
			return true;
		if (head & LINE_BUSY) {
			wait_for_claim(l, head);
			continue;
		}
		if (!__atomic_compare_exchange_n(&l->head, &head, LINE_HEAD_IN_CELLS | LINE_BUSY,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (line_state(head) == LINE_READ_SHARED)
			added = add_shared_reads(l, head, address);
		else if (line_state(head) == LINE_OWNED)
			add_to_cells(head, l->r, l->w, l->renewed, address);
		last = line_state(head) == LINE_READ_SHARED ? l->first_head : head;
		__atomic_store_n(&l->last_owner, last & ~LINE_LOW, __ATOMIC_RELAXED);
		__atomic_store_n(&l->head, added ? LINE_HEAD_IN_CELLS : LINE_USED_CELLS,
				 __ATOMIC_RELEASE);
		return added;
	}
}

bool line_open(struct shadow_line *l, uintptr_t address)
{
	uint32_t *lock = lock_stripe(address);
	bool in_cells = open_locked(l, address);

	unlock_stripe(lock);
	return in_cells;
}

/* --- closing: from the cells to the line --- */

/* The threads whose words in the cells are not dead; a settled word counts as the thread's own. */
enum owner { OWNER_NONE, OWNER_SELF, OWNER_OTHERS };

static enum owner find_word_owner(const struct rt_thread *t, uint64_t word)
{
	if (shadow_slot(word) >= SHADOW_NOBODY)
		return OWNER_OTHERS;
	switch (word_classify(t, word, SHADOW_WRITE | SHADOW_BYTES)) {
	case WORD_EMPTY:
	case WORD_DEAD:
		return OWNER_NONE;
	case WORD_OWN:
		return word_is_dead(word) ? OWNER_NONE : OWNER_SELF;
	case WORD_ORDERED:
		return word_is_settled(t, word) ? OWNER_SELF : OWNER_OTHERS;
	default:
		return OWNER_OTHERS;
	}
}

static enum owner find_cells_owner(const struct rt_thread *t, const struct shadow_cell *cell)
{
	enum owner all = OWNER_NONE;

	for (uint32_t i = 0; i < 16 && all != OWNER_OTHERS; i++) {
		uint64_t word = __atomic_load_n(&cell[i / 2].w[i % 2], __ATOMIC_ACQUIRE);
		const struct shadow_list *list = shadow_list(word);
		enum owner one = list ? OWNER_NONE : find_word_owner(t, word);

		/* The list may be freed at any time; it is never unmapped. */
		for (uint32_t k = 0; list && k < list->n && k < list->cap && one != OWNER_OTHERS;
		     k++) {
			enum owner in = find_word_owner(t, list->w[k]);

			one = in > one ? in : one;
		}
		all = one > all ? one : all;
	}
	return all;
}

/* Raise the thread's clock above those of the dead words. */
static void come_after_dead_words(struct rt_thread *t, const struct shadow_cell *cell)
{
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t k = 0; k < 2; k++) {
			uint64_t word = cell[i].w[k];

			if (word && shadow_slot(word) < SHADOW_NOBODY && !word_is_mine(t, word))
				time_after_dead(t, word);
		}
}

/* Is the last owner still in the stretch in which it owned the line? It may be about to set bits.
 */
static bool is_last_owner_at_it(const struct rt_thread *t, uint64_t last_owner)
{
	return shadow_slot(last_owner) && !word_is_mine(t, last_owner) &&
	       word_time(last_owner) >=
		       __atomic_load_n(&slot_public[shadow_slot(last_owner)].stretch,
				       __ATOMIC_ACQUIRE);
}

/* Do the cells hold only reads, except for what is dead? */
static bool are_cells_only_read(const struct shadow_cell *cell)
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
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, line_start(address));
	uint64_t shared_head = 0;
	enum owner owner;
	bool in_cells;
	uint32_t *lock;

	if (!cell ||
	    (line_vain_attempts(l->last_owner) >= LINE_VAIN &&
	     (write || !are_cells_only_read(cell)) &&
	     (is_last_owner_at_it(t, l->last_owner) || find_cells_owner(t, cell) == OWNER_OTHERS)))
		return LINE_NEEDS_CELLS;
	lock = lock_stripe(address);
	in_cells = line_is_in_cells(l->head);
	RT_ASSERT(!in_cells || line_vain_attempts(l->last_owner) <= LINE_VAIN);
	owner = in_cells && !is_last_owner_at_it(t, l->last_owner) ? find_cells_owner(t, cell)
								   : OWNER_OTHERS;
	if (in_cells && owner == OWNER_OTHERS && !write && !shadow_serial &&
	    are_cells_only_read(cell) && readers_are_due(line_start(address))) {
		shared_head = readers_new() | LINE_USED_CELLS | LINE_BENEATH;
		__atomic_store_n(&l->head, shared_head, __ATOMIC_RELEASE);
	} else if (in_cells && owner == OWNER_OTHERS) {
		l->last_owner += line_vain_attempts(l->last_owner) < LINE_VAIN;
	} else if (in_cells) {
		come_after_dead_words(t, cell);
		l->r = bits;
		l->w = write ? bits : 0;
		l->renewed = 0;
		__atomic_store_n(&l->head,
				 t->time.now | LINE_USED_CELLS |
					 (owner == OWNER_SELF ? LINE_BENEATH : 0),
				 __ATOMIC_RELEASE);
	}
	unlock_stripe(lock);
	if (shared_head)
		return note_shared_read(t, l, shared_head, bits, address, pc);
	return owner != OWNER_OTHERS ? LINE_NOTED : LINE_NEEDS_CELLS;
}

/* --- clearing --- */

/* Clear those cells of a line that have a bit here. Under the stripe's lock. */
static void clear_cells(uintptr_t address, uint64_t bits)
{
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, line_start(address));

	RT_ASSERT(shadow_is_locked(address));
	for (uint32_t i = 0; cell && i < 8; i++)
		if (bits >> 8 * i & 0xff)
			shadow_clear_cell(&cell[i]);
}

/*
 * Clear bits of a line that is owned or unused. False: it is so no longer, or it is another
 * thread's and not dead.
 */
static bool clear_owned_line(struct shadow_line *l, uint64_t head, uint64_t bits)
{
	if (!word_is_mine(&rt_self, head) && !line_is_unused(head) && !word_is_dead(head))
		return false;
	if (bits == ~0ull)
		return __atomic_compare_exchange_n(&l->head, &head, 0, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
	/* If the line becomes another thread's just now, these bits are no access of that thread.
	 */
	if (word_is_mine(&rt_self, head) && head >= rt_self.time.dead) {
		__atomic_fetch_and(&l->w, ~bits, __ATOMIC_SEQ_CST); /* first: they are all in r */
		__atomic_fetch_and(&l->r, ~bits, __ATOMIC_SEQ_CST);
	}
	return __atomic_load_n(&l->head, __ATOMIC_ACQUIRE) == head;
}

static void clear_line(struct shadow_line *l, uintptr_t address, uint64_t bits)
{
	uint64_t head = line_load_head(l);
	uint32_t *lock = &shadow_stripe(address)->lock;
	bool simple = shadow_slot(head) < SHADOW_NOBODY && !(head & LINE_BUSY), done;

	if (!head)
		return;
	done = simple && clear_owned_line(l, head, bits);
	if (done && !(head & LINE_USED_CELLS))
		return;
	rt_lock_ranked(lock, RT_STRIPE);
	if (done || open_locked(l, address))
		clear_cells(address, bits);
	if (!done && bits == ~0ull)
		__atomic_store_n(&l->head, 0, __ATOMIC_RELEASE);
	rt_unlock(lock);
}

/*
 * Memory of at least this size: give the pages of its shadow back, which makes them zero. Lists in
 * there are lost.
 */
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
