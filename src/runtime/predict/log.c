#include "runtime/predict/log_impl.h"

#include "base/banned.h"

/*
 * The most records of a round that drop_repeated_round() notices; the size in bytes from which an
 * array grows by a quarter instead of doubling.
 */
enum { ROUND_RECORDS = 128, GROW_SLOWLY = 16 << 20 };

const struct plog_memory *plog_memory;

/* Returns false, for the caller to return. */
static bool set_full(struct plog *l)
{
	l->full = true;
	return false;
}

bool plog_grow(struct plog *l, void *array, size_t *cap, size_t n, size_t size)
{
	/* Both arrays exist while one is copied: so a large one grows by less. */
	size_t more = *cap * size > GROW_SLOWLY ? *cap + *cap / 4 : 2 * *cap;
	char *old, *made;

	if (n < *cap)
		return true;
	if (!*cap)
		more = RAW_PAGE / size;
	made = plog_pages(more * size);
	if (!made)
		return set_full(l);
	__builtin_memcpy(&old, array, sizeof old);
	if (n)
		__builtin_memcpy(made, old, n * size);
	plog_pages_free(old, *cap * size);
	__builtin_memcpy(array, &made, sizeof made);
	*cap = more;
	return true;
}

/* --- tables --- */

bool plog_table_room(struct plog *l, struct plog_table *t)
{
	struct plog_table old = *t;
	uint64_t slots = old.mask ? 2 * (old.mask + 1) : RAW_PAGE / sizeof *t->slot;

	if (2 * t->n < t->mask)
		return true;
	t->slot = plog_pages(slots * sizeof *t->slot);
	if (!t->slot) {
		*t = old;
		return set_full(l);
	}
	t->mask = slots - 1;
	for (uint64_t i = 0; old.mask && i <= old.mask; i++) {
		uint64_t at = old.slot[i] >> 32 & t->mask;

		if (!old.slot[i])
			continue;
		while (t->slot[at])
			at = (at + 1) & t->mask;
		t->slot[at] = old.slot[i];
	}
	if (old.mask)
		plog_pages_free(old.slot, (old.mask + 1) * sizeof *old.slot);
	return true;
}

static void table_free(struct plog_table *t)
{
	if (t->mask)
		plog_pages_free(t->slot, (t->mask + 1) * sizeof *t->slot);
	*t = (struct plog_table){0};
}

uint32_t plog_look_up(const struct plog *l, const struct plog_table *t, uint64_t hash,
		      bool (*is)(const struct plog *l, uint32_t index, const void *what),
		      const void *what)
{
	uint64_t tag = hash >> 32;

	for (uint64_t at = tag & t->mask; t->mask && t->slot[at]; at = (at + 1) & t->mask)
		if (t->slot[at] >> 32 == tag && is(l, (uint32_t)t->slot[at], what))
			return (uint32_t)t->slot[at];
	return 0;
}

bool plog_add(struct plog *l, struct plog_table *t, uint64_t hash, uint32_t index)
{
	uint64_t at;

	if (!plog_table_room(l, t))
		return false;
	at = hash >> 32 & t->mask;
	while (t->slot[at])
		at = (at + 1) & t->mask;
	t->slot[at] = (hash & ~0xffffffffull) | index;
	t->n++;
	return true;
}

/* --- critical sections that were passed --- */

/* Is this the id of a scope that has not ended? */
static bool is_scope_open(const struct plog *l, uint64_t scope)
{
	bool open = scope == l->scope.id || scope == l->tx_scope.id;

	for (size_t i = 0; i < l->nheld && !open; i++)
		open = scope == l->held[i].scope.id;
	return open;
}

static void add_passed(struct plog *l, struct plog_passed p)
{
	uint64_t at = p.hash >> 32 & l->passed_mask;

	while (l->passed[at].scope)
		at = (at + 1) & l->passed_mask;
	l->passed[at] = p;
	l->npassed++;
}

/* Make room for one more. Forget sections whose scope has ended; if these are few, grow. */
static bool make_passed_room(struct plog *l)
{
	struct plog_passed *old = l->passed;
	uint64_t n = old ? l->passed_mask + 1 : 0, live = 0, slots;

	if (2 * l->npassed < n)
		return true;
	for (uint64_t i = 0; i < n; i++)
		live += old[i].scope && is_scope_open(l, old[i].scope);
	slots = !n ? RAW_PAGE / sizeof *old : 4 * live < n ? n : 2 * n;
	l->passed = plog_pages(slots * sizeof *old);
	if (!l->passed) {
		l->passed = old;
		return set_full(l);
	}
	l->passed_mask = slots - 1;
	l->npassed = 0;
	for (uint64_t i = 0; i < n; i++)
		if (old[i].scope && is_scope_open(l, old[i].scope))
			add_passed(l, old[i]);
	plog_pages_free(old, n * sizeof *old);
	return true;
}

static struct plog_scope begin_scope(struct plog *l)
{
	return (struct plog_scope){.id = ++l->scopes};
}

/*
 * Was a section with this hash passed in the scope? If not, it is noted as passed. Without memory
 * the answer is yes: the log is full.
 */
static bool find_or_add_passed(struct plog *l, uint64_t hash, uint64_t scope)
{
	if (!make_passed_room(l))
		return true;
	for (uint64_t at = hash >> 32 & l->passed_mask; l->passed[at].scope;
	     at = (at + 1) & l->passed_mask)
		if (l->passed[at].hash == hash)
			return true;
	add_passed(l, (struct plog_passed){hash, scope});
	return false;
}

/* May a critical section with these lock operations be left out? Notes that it was passed. */
static bool may_leave_out(struct plog *l, uint64_t hash)
{
	struct plog_scope *s = l->nheld ? &l->held[l->nheld - 1].scope
			       : l->tx  ? &l->tx_scope
					: &l->scope;
	uint64_t last = s->last;

	hash = plog_mix(hash, s->id);
	if (hash == last)
		return true;
	s->last = hash;
	return find_or_add_passed(l, hash, s->id) && (l->full || ++s->turns > PLOG_TURNS);
}

void plog_refresh(struct plog *l, bool outside)
{
	if (outside)
		l->scope = begin_scope(l);
	l->tx_scope = begin_scope(l);
	for (size_t i = 0; i < l->nheld; i++)
		l->held[i].scope = begin_scope(l);
}

/* --- the log --- */

static void enter_state(struct plog *l);
static void update_state(struct plog *l);

struct plog *plog_new(void)
{
	struct plog *l = plog_pages(sizeof *l);

	if (!l)
		return NULL;
	l->fast = rt_pages(PLOG_FAST * sizeof *l->fast);
	l->like = rt_pages(PLOG_LIKE * sizeof *l->like);
	l->burst = 1;
	l->nnodes = 1;
	l->nentries = l->ngroups = 1;
	l->scope = begin_scope(l);
	l->full = !l->fast || !l->like;
	if (l->full || !plog_grow(l, &l->nodes, &l->node_cap, 0, sizeof *l->nodes) ||
	    !plog_grow(l, &l->groups, &l->group_cap, 0, sizeof *l->groups) ||
	    !plog_grow(l, &l->entries, &l->entry_cap, 0, sizeof *l->entries)) {
		plog_free(l);
		return NULL;
	}
	update_state(l);
	return l;
}

void plog_finish(struct plog *l)
{
	table_free(&l->by_call);
	table_free(&l->by_bytes);
	table_free(&l->seen);
	if (l->passed)
		plog_pages_free(l->passed, (l->passed_mask + 1) * sizeof *l->passed);
	plog_pages_free(l->groups, l->group_cap * sizeof *l->groups);
	plog_pages_free(l->entries, l->entry_cap * sizeof *l->entries);
	plog_pages_free(l->held, l->held_cap * sizeof *l->held);
	rt_pages_free(l->fast, PLOG_FAST * sizeof *l->fast);
	rt_pages_free(l->like, PLOG_LIKE * sizeof *l->like);
	l->passed = NULL;
	l->groups = NULL;
	l->entries = NULL;
	l->held = NULL;
	l->fast = NULL;
	l->like = NULL;
	l->group_cap = l->entry_cap = l->held_cap = l->nheld = 0;
	l->full = true;
}

void plog_free(struct plog *l)
{
	plog_finish(l);
	plog_pages_free(l->v, l->cap * sizeof *l->v);
	plog_pages_free(l->nodes, l->node_cap * sizeof *l->nodes);
	plog_pages_free(l, sizeof *l);
}

static bool is_node(const struct plog *l, uint32_t index, const void *what)
{
	const struct plog_node *a = &l->nodes[index], *b = what;

	return a->parent == b->parent && a->function == b->function && a->caller == b->caller &&
	       a->kind == b->kind;
}

uint32_t plog_node(struct plog *l, uint32_t parent, uint64_t function, uint64_t caller,
		   uint8_t kind)
{
	struct plog_node node = {.function = function,
				 .caller = caller,
				 .parent = parent,
				 .depth = l->nodes[parent].depth + 1,
				 .kind = kind};
	uint32_t index;

	node.hash = plog_mix(plog_mix(plog_mix(l->nodes[parent].hash, function), caller), kind);
	node.place = l->nodes[parent].place;
	if (kind != PLOG_MARK)
		node.place = plog_mix(node.place, caller);
	index = plog_look_up(l, &l->by_call, node.hash, is_node, &node);
	if (index || l->full)
		return index;
	if (!plog_grow(l, &l->nodes, &l->node_cap, l->nnodes, sizeof node) ||
	    !plog_add(l, &l->by_call, node.hash, (uint32_t)l->nnodes))
		return 0;
	l->nodes[l->nnodes] = node;
	return (uint32_t)l->nnodes++;
}

void plog_append(struct plog *l, uint64_t what, uint64_t pc, uint64_t more, uint32_t node,
		 uint32_t prev)
{
	if (!plog_grow(l, &l->v, &l->cap, l->n, sizeof *l->v))
		return;
	l->v[l->n++] = (struct plog_record){what, pc, more, node, prev};
}

/* --- transactions --- */

static void begin_burst(struct plog *l)
{
	l->seq++;
	l->burst++;
	l->burst_seq = l->seq;
	l->burst_at = l->n;
}

void plog_begin(struct plog *l, uint32_t node)
{
	if (l->full)
		return;
	begin_burst(l);
	l->tx = ++l->last_tx;
	l->tx_at = l->n;
	l->tx_kept = l->kept;
	l->tx_state = l->state;
	l->tx_epoch = l->epoch;
	l->novel = l->n;
	l->nstates = 0;
	l->stable++;
	l->tx_scope = begin_scope(l);
	enter_state(l);
	plog_append(l, plog_what((enum raw_op)PLOG_BEGIN, 0, 0), 0, l->time, node, 0);
}

/* The record at `from` moves to `to`; SIZE_MAX: it is removed. */
static void move_acquire(struct plog *l, size_t from, size_t to)
{
	for (size_t i = 0; i < l->nheld; i++)
		if (l->held[i].at == from)
			l->held[i].at = to;
}

/* Is a lock held whose acquire is at this index of the log or later? */
static bool holds_lock_acquired_at(const struct plog *l, size_t at)
{
	for (size_t i = 0; i < l->nheld; i++)
		if (l->held[i].at >= at)
			return true;
	return false;
}

static bool is_lock(const struct plog_record *r)
{
	enum raw_op op = (enum raw_op)(r->what >> 48 & 0xff);

	return op >= RAW_ACQUIRE && op <= RAW_SEM_POST;
}

static bool is_acquire(enum raw_op op)
{
	return op == RAW_ACQUIRE || op == RAW_ACQUIRE_SHARED || op == RAW_SEM_WAIT;
}

/*
 * Reduce the records from an index on to the lock operations of the critical sections that the log
 * does not have. No lock that was acquired there is held any more.
 */
static void keep_new_sections(struct plog *l, size_t from)
{
	size_t to = from, first = from, depth = 0;
	uint64_t hash = 0;

	RT_ASSERT(!holds_lock_acquired_at(l, from));
	for (size_t i = from; i < l->n; i++) {
		if (!is_lock(&l->v[i]))
			continue;
		hash = plog_mix(hash, l->v[i].what);
		l->v[to++] = l->v[i];
		if (is_acquire((enum raw_op)(l->v[i].what >> 48 & 0xff)))
			depth++;
		else if (depth)
			depth--;
		if (depth)
			continue;
		if (may_leave_out(l, hash))
			to = first;
		first = to;
		hash = 0;
	}
	l->n = to;
}

void plog_end(struct plog *l)
{
	bool nothing = l->kept == l->tx_kept && !l->everything;
	bool undone = nothing && l->state == l->tx_state && !holds_lock_acquired_at(l, l->tx_at);
	size_t to = l->tx_at;

	if (!l->tx)
		return;
	l->tx = 0;
	begin_burst(l);
	if (l->full)
		return;
	if (undone) {
		keep_new_sections(l, to);
		return;
	}
	for (size_t i = l->tx_at; i < l->n; i++) {
		const struct plog_record *r = &l->v[i];
		bool marker = (r->what >> 48 & 0xff) == PLOG_BEGIN, kept;

		if (plog_is_access(r) || !r->what)
			kept = r->what && r->pc & PLOG_KEEP;
		else
			kept = !marker || !nothing;
		if (!plog_is_access(r) && !marker)
			move_acquire(l, i, kept ? to : SIZE_MAX);
		if (kept)
			l->v[to++] = *r;
	}
	l->n = to;
}

/*
 * Remove the records from an index on; unless `locks`, the lock operations among them stay. The
 * entries of the accesses get back the chains that they had before.
 */
static void remove_records(struct plog *l, size_t to, bool locks)
{
	for (size_t i = l->n; i-- > to;) {
		const struct plog_record *r = &l->v[i];

		if (plog_is_access(r) && l->entries[r->more >> 32].tx == l->tx)
			l->entries[r->more >> 32].chain = r->prev;
		else if (plog_is_access(r))
			plog_forget_chains(l, r);
	}
	for (size_t i = to; i < l->n && !locks; i++)
		if (is_lock(&l->v[i]))
			l->v[to++] = l->v[i];
	l->n = to;
}

/* --- the thread's state --- */

static uint64_t hash_state(const struct plog *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->nheld; i++)
		sum += plog_mix(plog_mix(l->held[i].lock, l->held[i].shared), l->held[i].since_sum);
	return plog_mix(sum, l->phase + 1ull);
}

/* The locks or the phase have changed. Remembers the first PLOG_STATES_LIKE states. */
static void update_state(struct plog *l)
{
	uint64_t at;

	l->state = hash_state(l);
	if (l->nknown == PLOG_STATES_LIKE || plog_is_known(l, l->state))
		return;
	at = l->state % PLOG_KNOWN;
	while (l->known[at])
		at = (at + 1) % PLOG_KNOWN;
	l->known[at] = l->state;
	l->nknown++;
}

/* In a transaction: put the current state in front of the states that it has been in. */
static void enter_state(struct plog *l)
{
	struct plog_state s = {.hash = l->state, .empty = !l->nheld};
	size_t i = 0;

	if (!l->tx)
		return;
	if (l->nstates)
		l->states[0].leave = l->seq;
	while (i < l->nstates && l->states[i].hash != s.hash)
		i++;
	if (i == l->nstates)
		l->nstates += i < PLOG_STATES;
	if (i == PLOG_STATES)
		i--; /* the state that was left first is forgotten */
	for (; i; i--)
		l->states[i] = l->states[i - 1];
	l->states[0] = s;
}

/* --- locks --- */

static struct plog_held *find_held(struct plog *l, uint64_t lock)
{
	for (size_t i = l->nheld; i-- > 0;)
		if (l->held[i].lock == lock)
			return &l->held[i];
	return NULL;
}

/* Another lock was acquired while this one is held. */
static void add_later_acquire(struct plog_held *h, uint64_t lock, bool shared)
{
	uint64_t hash = plog_mix(lock, 7u + shared);

	for (uint32_t i = 0; i < h->nsince; i++)
		if (h->since[i] == hash)
			return;
	if (h->nsince < PLOG_SINCE)
		h->since[h->nsince++] = hash;
	h->since_sum += hash;
}

static void change_state(struct plog *l)
{
	begin_burst(l);
	update_state(l);
	enter_state(l);
}

/*
 * Do the records from an index on leave the last read and the last write of all bytes as they were:
 * at the same places as the last ones before that index?
 */
static bool keeps_last_accesses(struct plog *l, size_t from)
{
	for (size_t i = l->n; i-- > from;) {
		const struct plog_record *r = &l->v[i], *other[2] = {NULL, NULL};
		struct plog_entry *e;
		uint64_t place[2];

		if (!plog_is_access(r))
			continue;
		e = &l->entries[r->more >> 32];
		if (!(r->more >> 32) || e->split)
			return false;
		/* Look at each entry once: at its last record. */
		if (e->chain != i + 1)
			continue;
		for (uint32_t at = e->chain; at; at = l->v[at - 1].prev) {
			const struct plog_record *b = &l->v[at - 1];

			if (at > from)
				continue;
			for (int k = 0; k < 2; k++)
				if (!other[k] && plog_does(b, k))
					other[k] = b;
		}
		for (int k = 0; k < 2; k++) {
			place[k] = other[k] ? plog_place(l, other[k]) : 0;
			if (e->last[k].seq && place[k] != e->last[k].place)
				return false;
		}
	}
	return true;
}

static void acquire_lock(struct plog *l, uint64_t lock, bool shared)
{
	struct plog_held *h;

	if (!plog_grow(l, &l->held, &l->held_cap, l->nheld, sizeof *l->held))
		return;
	for (size_t i = 0; i < l->nheld; i++)
		add_later_acquire(&l->held[i], lock, shared);
	h = &l->held[l->nheld++];
	*h = (struct plog_held){.lock = lock,
				.times = 1,
				.shared = shared,
				.nested = true,
				.at = l->n,
				.before = l->state,
				.tx = l->tx,
				.kept = l->kept,
				.stable = l->stable,
				.burst_at = l->burst_at,
				.scope = begin_scope(l)};
	change_state(l);
}

/* Returns a hash of the lock operations from an index on. */
static uint64_t hash_section(const struct plog *l, size_t from)
{
	uint64_t hash = 0;

	for (size_t i = from; i < l->n; i++)
		if (is_lock(&l->v[i]))
			hash = plog_mix(hash, l->v[i].what);
	return hash;
}

/*
 * Release a lock. Returns true if the whole critical section was removed from the log: then the
 * release is not appended either.
 */
static bool release_lock(struct plog *l, struct plog_held *gone, uint64_t what)
{
	size_t at = (size_t)(gone - l->held);
	struct plog_held h = *gone;
	bool last = at == l->nheld - 1, all;

	RT_ASSERT(at < l->nheld && !gone->times);
	for (size_t i = at; i + 1 < l->nheld; i++) {
		l->held[i] = l->held[i + 1];
		l->held[i].nested = false;
	}
	l->nheld--;
	change_state(l);
	if (l->everything || !last || !h.nested || h.at >= l->n || l->state != h.before ||
	    h.tx != l->tx || h.kept != l->kept)
		return false;
	if (l->tx && (h.stable != l->stable || l->nheld || l->tx_epoch != l->epoch ||
		      !keeps_last_accesses(l, h.at)))
		return false;
	all = may_leave_out(l, plog_mix(hash_section(l, h.at), what));
	if (l->tx && !all)
		return false;
	remove_records(l, h.at, all);
	if (all)
		l->burst_at = h.burst_at; /* in the log, the burst before goes on */
	return all;
}

/*
 * If the last records are the third time in a row that a transaction does the same, remove them: it
 * is as if the third round had not been. (Two rounds are not enough: the first may have begun with
 * another acquisition history of the same locks; the second has not.) Outside transactions such
 * records were removed before.
 */
static void drop_repeated_round(struct plog *l)
{
	size_t most = l->n - l->tx_at - 1;

	if (l->everything || !l->tx)
		return;
	for (size_t m = 2; m <= ROUND_RECORDS && 3 * m <= most && l->n - m > l->novel; m++) {
		const struct plog_record *last = &l->v[l->n - 1];
		size_t i = 0;

		while (i < 2 * m && plog_is_same(last - i, last - i - m))
			i++;
		if (i == 2 * m && !holds_lock_acquired_at(l, l->n - m)) {
			remove_records(l, l->n - m, true);
			l->burst_at = l->n;
			return;
		}
	}
}

void plog_lock(struct plog *l, enum raw_op op, uint64_t lock, uint32_t aux, uint64_t time,
	       uint32_t node, uint64_t pc)
{
	bool taken = is_acquire(op);
	bool sem = op == RAW_SEM_WAIT || op == RAW_SEM_POST;
	struct plog_held *h = find_held(l, lock);
	uint64_t kept = l->kept;

	if (l->full)
		return;
	l->time = time;
	if (sem) {
		/* The engine decides later whether it is a lock, or a variable that is updated. */
		unsigned brings = plog_judge_semaphore(l, lock, node, pc);

		l->kept += brings & PLOG_NOVEL;
		l->stable += brings & (PLOG_NOVEL | PLOG_FIRST) ? 1 : 0;
		if (taken == (h != NULL) && !l->tx && l->kept == kept && !l->everything)
			return;
	}
	if (taken == (h != NULL)) {
		if (h)
			h->times++;
		if (!sem)
			return;
	} else if (taken) {
		acquire_lock(l, lock, op == RAW_ACQUIRE_SHARED);
	} else if (--h->times) {
		if (!sem || (!l->tx && l->kept == kept && !l->everything))
			return;
	} else if (release_lock(l, h, plog_what(op, lock, aux))) {
		return;
	}
	plog_append(l, plog_what(op, lock, aux), pc | PLOG_KEEP, time, node, 0);
	l->burst_at = l->n;
	if (!taken)
		drop_repeated_round(l);
}

void plog_put(struct plog *l, enum raw_op op, uint64_t address, uint32_t aux, uint64_t time,
	      uint32_t node, uint64_t pc)
{
	if (l->full)
		return;
	l->time = time;
	l->kept++;
	l->stable++;
	if (op == RAW_WAIT || op == RAW_NOTIFY || op == RAW_BARRIER)
		l->epoch++;
	else if (op == RAW_FORK || op == RAW_JOIN)
		l->phase++;
	plog_append(l, plog_what(op, address, aux), pc | PLOG_KEEP, time, node, 0);
	l->novel = l->n;
	plog_refresh(l, true);
	change_state(l);
}

void plog_forget(struct plog *l, uint64_t address, uint64_t size, uint64_t time, uint32_t node,
		 uint64_t pc)
{
	uint64_t pages = (size + RAW_PAGE - 1) / RAW_PAGE;

	plog_put(l, RAW_FORGET, address, 0, time, node, pc);
	if (!l->full)
		l->v[l->n - 1].prev = (uint32_t)(pages < UINT32_MAX ? pages : UINT32_MAX);
}
