#include "runtime/predict_log.h"

#include "runtime/rt.h"

/* As engine/predict_witness.h has it; a few more do no harm, since it decides again. */
enum { VARIANTS = 12, REUSES = 8 };

/* So many accesses, or records, that are repeated are noticed. */
enum { ROUND = 4, ROUND_RECORDS = 128 };

/* What a witness is of, as there. */
enum { KIND_R, KIND_W, KIND_PAIRS };

const struct plog_memory *plog_memory;

static inline uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	h ^= h >> 32;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ h >> 29;
}

static bool no_room(struct plog *l)
{
	l->full = true;
	return false;
}

/* Room for one more; zeroed behind what there is. False: there is none. */
static bool grow(struct plog *l, void *array, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? 2 * *cap : RAW_PAGE / size;
	char *old, *made;

	if (n < *cap)
		return true;
	made = plog_pages(more * size);
	if (!made)
		return no_room(l);
	__builtin_memcpy(&old, array, sizeof old);
	if (n)
		__builtin_memcpy(made, old, n * size);
	plog_pages_free(old, *cap * size);
	__builtin_memcpy(array, &made, sizeof made);
	*cap = more;
	return true;
}

/* --- tables: the high half of a slot says where it belongs --- */

static bool table_room(struct plog *l, struct plog_table *t)
{
	struct plog_table old = *t;
	uint64_t slots = old.mask ? 2 * (old.mask + 1) : RAW_PAGE / sizeof *t->slot;

	if (2 * t->n < t->mask)
		return true;
	t->slot = plog_pages(slots * sizeof *t->slot);
	if (!t->slot) {
		*t = old;
		return no_room(l);
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

static bool is_seen(const struct plog *l, uint64_t hash)
{
	hash |= 1;
	for (uint64_t at = hash >> 32 & l->seen.mask; l->seen.mask && l->seen.slot[at];
	     at = (at + 1) & l->seen.mask)
		if (l->seen.slot[at] == hash)
			return true;
	return false;
}

static void see(struct plog *l, uint64_t hash)
{
	uint64_t at;

	hash |= 1;
	if (!table_room(l, &l->seen))
		return;
	at = hash >> 32 & l->seen.mask;
	while (l->seen.slot[at])
		at = (at + 1) & l->seen.mask;
	l->seen.slot[at] = hash;
	l->seen.n++;
}

/* An index by a hash: `is` says whether it is the one. 0: not there. */
static uint32_t look_up(const struct plog *l, const struct plog_table *t, uint64_t hash,
			bool (*is)(const struct plog *l, uint32_t index, const void *what),
			const void *what)
{
	uint64_t tag = hash >> 32;

	for (uint64_t at = tag & t->mask; t->mask && t->slot[at]; at = (at + 1) & t->mask)
		if (t->slot[at] >> 32 == tag && is(l, (uint32_t)t->slot[at], what))
			return (uint32_t)t->slot[at];
	return 0;
}

static bool add(struct plog *l, struct plog_table *t, uint64_t hash, uint32_t index)
{
	uint64_t at;

	if (!table_room(l, t))
		return false;
	at = hash >> 32 & t->mask;
	while (t->slot[at])
		at = (at + 1) & t->mask;
	t->slot[at] = (hash & ~0xffffffffull) | index;
	t->n++;
	return true;
}

/* --- */

static void enter_state(struct plog *l);
static void forget_chains(struct plog *l, const struct plog_record *r);
static uint64_t state_now(const struct plog *l);

struct plog *plog_new(void)
{
	struct plog *l = plog_pages(sizeof *l);

	if (!l)
		return NULL;
	l->fast = rt_pages(PLOG_FAST * sizeof *l->fast);
	l->met = rt_pages(PLOG_MET * sizeof *l->met);
	l->segment = 1;
	l->nnodes = 1;
	l->nentries = 1;
	l->full = !l->fast || !l->met;
	if (l->full || !grow(l, &l->nodes, &l->node_cap, 0, sizeof *l->nodes) ||
	    !grow(l, &l->entries, &l->entry_cap, 0, sizeof *l->entries)) {
		plog_free(l);
		return NULL;
	}
	l->state = state_now(l);
	return l;
}

void plog_finish(struct plog *l)
{
	table_free(&l->by_call);
	table_free(&l->by_bytes);
	table_free(&l->seen);
	plog_pages_free(l->entries, l->entry_cap * sizeof *l->entries);
	plog_pages_free(l->held, l->held_cap * sizeof *l->held);
	rt_pages_free(l->fast, PLOG_FAST * sizeof *l->fast);
	rt_pages_free(l->met, PLOG_MET * sizeof *l->met);
	l->entries = NULL;
	l->held = NULL;
	l->fast = NULL;
	l->met = NULL;
	l->entry_cap = l->held_cap = l->nheld = 0;
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

	node.hash = mix(mix(mix(l->nodes[parent].hash, function), caller), kind);
	index = look_up(l, &l->by_call, node.hash, is_node, &node);
	if (index || l->full)
		return index;
	if (!grow(l, &l->nodes, &l->node_cap, l->nnodes, sizeof node) ||
	    !add(l, &l->by_call, node.hash, (uint32_t)l->nnodes))
		return 0;
	l->nodes[l->nnodes] = node;
	return (uint32_t)l->nnodes++;
}

static void append(struct plog *l, uint64_t what, uint64_t pc, uint64_t more, uint32_t node,
		   uint32_t prev)
{
	if (!grow(l, &l->v, &l->cap, l->n, sizeof *l->v))
		return;
	l->v[l->n++] = (struct plog_record){what, pc, more, node, prev};
}

static bool is_access(const struct plog_record *r)
{
	enum raw_op op = (enum raw_op)(r->what >> 48 & 0xff);

	return op >= RAW_READ && op <= RAW_WRITE_RANGE;
}

/* --- transactions --- */

static void new_segment(struct plog *l)
{
	l->seq++;
	l->segment++;
	l->segment_seq = l->seq;
	l->segment_at = l->n;
}

void plog_begin(struct plog *l, uint32_t node)
{
	if (l->full)
		return;
	new_segment(l);
	l->tx = ++l->last_tx;
	l->tx_at = l->n;
	l->tx_kept = l->kept;
	l->tx_state = l->state;
	l->tx_epoch = l->epoch;
	l->novel = l->n;
	l->nstates = 0;
	l->stable++;
	enter_state(l);
	append(l, plog_what((enum raw_op)PLOG_BEGIN, 0, 0), 0, l->time, node, 0);
}

/* What is at a position of the log is moved, or gone. */
static void move_held(struct plog *l, size_t from, size_t to)
{
	for (size_t i = 0; i < l->nheld; i++)
		if (l->held[i].at == from)
			l->held[i].at = to;
}

/* Is a lock held that was acquired there? Others may have had it before. */
static bool acquired_behind(const struct plog *l, size_t at)
{
	for (size_t i = 0; i < l->nheld; i++)
		if (l->held[i].at >= at)
			return true;
	return false;
}

void plog_end(struct plog *l)
{
	bool nothing = l->kept == l->tx_kept && !l->everything;
	bool undone = nothing && l->state == l->tx_state && !acquired_behind(l, l->tx_at);
	size_t to = l->tx_at;

	if (!l->tx)
		return;
	l->tx = 0;
	new_segment(l);
	if (l->full)
		return;
	for (size_t i = l->tx_at; i < l->n; i++) {
		const struct plog_record *r = &l->v[i];
		bool marker = (r->what >> 48 & 0xff) == PLOG_BEGIN, kept;

		/* Where the locks are what they were, those in between need not be told. */
		if (undone)
			kept = false;
		else if (is_access(r) || !r->what)
			kept = r->what && r->pc & PLOG_KEEP;
		else
			kept = !marker || !nothing;
		if (!is_access(r) && !marker)
			move_held(l, i, kept ? to : SIZE_MAX);
		if (kept)
			l->v[to++] = *r;
	}
	l->n = to;
}

/* Forget all from a position on; in a transaction, also who did it. */
static void take_back(struct plog *l, size_t to)
{
	for (size_t i = l->n; i-- > to;) {
		const struct plog_record *r = &l->v[i];

		if (is_access(r) && l->entries[r->more >> 32].tx == l->tx)
			l->entries[r->more >> 32].chain = r->prev;
		else if (is_access(r))
			forget_chains(l, r);
	}
	l->n = to;
}

/* --- where the thread stands --- */

static uint64_t state_now(const struct plog *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->nheld; i++)
		sum += mix(mix(l->held[i].lock, l->held[i].shared), l->held[i].since_sum);
	return mix(sum, l->stretch + 1ull);
}

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
		i--; /* the one that was left first is forgotten */
	for (; i; i--)
		l->states[i] = l->states[i - 1];
	l->states[0] = s;
}

/* The states that the thread has been in since, as one number. */
static uint64_t states_since(const struct plog *l, uint64_t seq)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > seq); i++)
		sum += mix(l->states[i].hash, l->states[i].empty);
	return sum;
}

/* Has it held nothing since? */
static const struct plog_state *let_go_since(const struct plog *l, uint64_t seq)
{
	if (l->tx_epoch != l->epoch)
		return NULL;
	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > seq); i++)
		if (l->states[i].empty)
			return &l->states[i];
	return NULL;
}

/* --- witnesses --- */

static uint64_t entry_hash(const struct plog_entry *e)
{
	return e->key ^ (uint64_t)e->reuse << 56;
}

/* True: it is one that the engine might keep. */
static bool witness(struct plog *l, struct plog_entry *e, unsigned kind, uint64_t state,
		    uint64_t place1, uint64_t place2)
{
	uint64_t first = mix(mix(entry_hash(e), kind), state);
	uint64_t variant = mix(mix(mix(first, place1), place2), l->epoch);

	if (!is_seen(l, first)) {
		see(l, first);
		see(l, variant);
		return true;
	}
	if (e->variants[kind] == VARIANTS || is_seen(l, variant))
		return false;
	e->variants[kind]++;
	see(l, variant);
	return true;
}

static bool pair(struct plog *l, struct plog_entry *e, unsigned kind, const struct plog_did *e1,
		 uint64_t since, uint64_t place)
{
	const struct plog_state *free = let_go_since(l, e1->seq);
	bool any = false;

	if (free)
		return witness(l, e, kind, free->hash, e1->place, place);
	if (since < e1->seq)
		since = e1->seq;
	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > since);
	     i++)
		any |= witness(l, e, kind, l->states[i].hash, e1->place, place);
	return any;
}

static bool pairs(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	bool any = false;

	for (unsigned k = 0; k < 4; k++) {
		const struct plog_did *far = &e->first[k >> 1], *near = &e->last[k >> 1];

		if (!does[k & 1] || !far->seq)
			continue;
		any |= pair(l, e, KIND_PAIRS + k, far, e->last[k & 1].seq, place);
		if (near->place != far->place)
			any |= pair(l, e, KIND_PAIRS + k, near, e->last[k & 1].seq, place);
	}
	return any;
}

/* All that the answer depends on, as one number. */
static uint64_t question(const struct plog *l, const struct plog_entry *e, uint64_t place)
{
	uint64_t h = mix(mix(mix(entry_hash(e), place), l->state), l->epoch);

	if (!l->tx)
		return h | 1;
	h = mix(h, 2 + (l->tx_epoch == l->epoch));
	for (int k = 0; k < 2; k++) {
		if (!e->first[k].seq)
			continue;
		h = mix(mix(h, e->first[k].place + (uint64_t)k), e->last[k].place);
		if (l->nstates > 1)
			h = mix(mix(h, states_since(l, e->first[k].seq)),
				states_since(l, e->last[k].seq));
	}
	return h | 1;
}

/* OTHER: it is not what was done last, in this segment. */
enum { NOVEL = 1, FIRST = 2, OTHER = 4 };

/* What an access of these bytes brings; from now on it has happened. */
static unsigned judge(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	struct plog_did this = {l->seq, place};
	unsigned brings = 0;
	uint64_t h, *met;

	if (plog_memory) {
		uint8_t now = plog_memory->generation(e->key >> 8 << 3);

		if (e->generation != now && e->reuse < REUSES) {
			e->reuse++;
			__builtin_memset(e->variants, 0, sizeof e->variants);
		}
		e->generation = now;
	}
	if (l->tx && e->tx != l->tx) {
		brings = FIRST;
		e->tx = l->tx;
		e->chain = 0;
		e->hot = false;
		e->first[0].seq = e->first[1].seq = e->last[0].seq = e->last[1].seq = 0;
	}
	h = question(l, e, place);
	met = &l->met[h >> 1 & (PLOG_MET - 1)];
	if (*met != h) {
		bool any = false;

		*met = h;
		for (unsigned k = 0; k < 2; k++)
			if (does[k])
				any |= witness(l, e, KIND_R + k, l->state, 0, place);
		if (l->tx)
			any |= pairs(l, e, does, place);
		brings |= any ? NOVEL : 0;
	}
	if (!l->tx)
		return brings;
	for (int k = 0; k < 2; k++) {
		if (!does[k])
			continue;
		if (e->last[k].place != place || e->last[k].seq <= l->segment_seq)
			brings |= OTHER;
		e->last[k] = this;
		if (!e->first[k].seq)
			e->first[k] = this;
	}
	return brings;
}

/* --- bytes --- */

static bool is_entry(const struct plog *l, uint32_t index, const void *what)
{
	return l->entries[index].key == *(const uint64_t *)what;
}

static struct plog_entry *find_entry(struct plog *l, uint64_t key)
{
	uint32_t index = look_up(l, &l->by_bytes, mix(key, 1), is_entry, &key);

	return index ? &l->entries[index] : NULL;
}

static struct plog_entry *make_entry(struct plog *l, uint64_t key)
{
	struct plog_entry *e;

	if (!grow(l, &l->entries, &l->entry_cap, l->nentries, sizeof *e) ||
	    !add(l, &l->by_bytes, mix(key, 1), (uint32_t)l->nentries))
		return NULL;
	e = &l->entries[l->nentries++];
	e->key = key;
	if (plog_memory)
		e->generation = plog_memory->generation(key >> 8 << 3);
	return e;
}

static void keep_chain(struct plog *l, struct plog_entry *e)
{
	if (e->tx != l->tx || !l->tx)
		return;
	for (uint32_t at = e->chain; at && at <= l->n && !(l->v[at - 1].pc & PLOG_KEEP);) {
		struct plog_record *r = &l->v[at - 1];

		r->pc |= PLOG_KEEP;
		at = r->prev < at ? r->prev : 0;
	}
}

/* Each byte has its own entry from now on, and what is known of these bytes is known of it. */
static bool split_one(struct plog *l, struct plog_entry *e, uint64_t bytes)
{
	uint64_t granule = e->key >> 8;
	struct plog_entry whole = *e;

	keep_chain(l, e);
	e->split = true;
	for (uint64_t b = 1; b < 256; b <<= 1) {
		struct plog_entry *one = bytes & b ? make_entry(l, granule << 8 | b) : NULL;

		if (one) {
			*one = whole;
			one->key = granule << 8 | b;
		} else if (bytes & b) {
			return false;
		}
	}
	return true;
}

/* Bytes that overlap with others were accessed. */
static void split(struct plog *l, uint64_t granule)
{
	struct plog_entry *e = find_entry(l, granule << 8);

	if (!split_one(l, e, e->bytes))
		return;
	for (unsigned from = 0; from < 8; from++)
		for (unsigned n = 2; from + n <= 8; n++) {
			uint64_t bytes = ((1ull << n) - 1) << from;

			e = find_entry(l, granule << 8 | bytes);
			if (e && !split_one(l, e, bytes))
				return;
		}
}

/*
 * The entry of all these bytes, or NULL where each has its own. The first that are accessed have
 * the key for none, and know which others there are.
 */
static struct plog_entry *entry_of(struct plog *l, uint64_t granule, uint64_t bytes)
{
	struct plog_entry *first = find_entry(l, granule << 8), *e;

	if (!first) {
		first = make_entry(l, granule << 8);
		if (first)
			first->bytes = first->all = (uint8_t)bytes;
		return first;
	}
	if (first->bytes == bytes && !first->split)
		return first;
	e = find_entry(l, granule << 8 | bytes);
	if (e)
		return e->split ? NULL : e;
	if (!first->split && first->all & bytes) {
		split(l, granule);
		if (l->full)
			return NULL;
		return entry_of(l, granule, bytes);
	}
	if (first->split && bytes & (bytes - 1))
		return NULL;
	first->all |= (uint8_t)bytes;
	return make_entry(l, granule << 8 | bytes);
}

/* --- accesses --- */

struct access {
	struct plog *l;
	uint64_t place;
	bool does[2];
	unsigned brings; /* of all its bytes together */
	uint32_t entries;
	struct plog_entry *e; /* the last */
	bool hot;
};

/* All is looked at twice: first for what it brings, then to tell where its record is. */
static void on_entry(struct access *a, struct plog_entry *e, uint32_t record)
{
	if (!e)
		return;
	a->e = e;
	a->entries += !record;
	if (!record) {
		a->brings |= judge(a->l, e, a->does, a->place);
		a->hot |= a->l->tx && e->hot;
		return;
	}
	if (a->brings & NOVEL || a->entries > 1)
		keep_chain(a->l, e);
	if (a->brings & NOVEL)
		e->hot = true;
	e->chain = record;
}

static void each_entry(struct access *a, uint64_t address, uint64_t size, uint32_t record)
{
	uint64_t end = address + size;

	for (uint64_t at = address; at < end && !a->l->full; at = (at | 7) + 1) {
		uint64_t to = end < (at | 7) + 1 ? end : (at | 7) + 1;
		uint64_t bytes = ((1ull << (to - at)) - 1) << (at & 7);
		struct plog_entry *e = entry_of(a->l, at >> 3, bytes);

		if (e) {
			on_entry(a, e, record);
			continue;
		}
		for (uint64_t b = at; b < to && !a->l->full; b++)
			on_entry(a, entry_of(a->l, b >> 3, 1ull << (b & 7)), record);
	}
}

/* A record of several entries is taken back: those before it are kept already. */
static void forget_chains(struct plog *l, const struct plog_record *r)
{
	uint32_t aux = (uint32_t)(r->what >> 56);
	uint64_t address = r->what & RAW_ADDRESS_MASK,
		 end = address + (aux ? aux : (uint32_t)r->more);

	for (uint64_t at = address; at < end && !l->full; at = (at | 7) + 1) {
		uint64_t to = end < (at | 7) + 1 ? end : (at | 7) + 1;
		struct plog_entry *e = entry_of(l, at >> 3, ((1ull << (to - at)) - 1) << (at & 7));

		if (e)
			e->chain = 0;
		for (uint64_t b = at; b < to && !e && !l->full; b++)
			entry_of(l, b >> 3, 1ull << (b & 7))->chain = 0;
	}
}

static void remember(struct plog *l, uint64_t what, uint32_t node, uint64_t pc, bool done)
{
	struct plog_fast *f = &l->fast[(what >> 3) & (PLOG_FAST - 1)];
	uint64_t granule = (what & RAW_ADDRESS_MASK) >> 3;

	if (f->granule != granule || f->segment != l->segment || !done || f->n == PLOG_WAYS) {
		f->granule = granule;
		f->segment = l->segment;
		f->n = 0;
	}
	if (!done)
		return;
	f->way[f->n].what = what;
	f->way[f->n].pc = pc;
	f->way[f->n++].node = node;
}

static void put_access(struct access *a, enum raw_op op, uint64_t address, uint64_t size,
		       uint32_t node, uint64_t pc)
{
	struct plog *l = a->l;
	bool ranged = op == RAW_READ_RANGE || op == RAW_WRITE_RANGE;
	bool keep = !l->tx || a->brings & NOVEL || a->hot || l->everything;
	uint32_t one = a->entries == 1 ? (uint32_t)(a->e - l->entries) : 0;
	uint32_t prev = one && l->tx ? a->e->chain : 0;

	if (l->later)
		append(l, plog_what((enum raw_op)PLOG_TIME, 0, 0), 0, l->later, node, 0);
	l->later = 0;
	append(l, plog_what(op, address, ranged ? 0 : (uint32_t)size), pc | (keep ? PLOG_KEEP : 0),
	       (uint64_t)one << 32 | (ranged ? (size < UINT32_MAX ? size : UINT32_MAX) : 0), node,
	       prev);
	if (l->tx && !l->full)
		each_entry(a, address, size, (uint32_t)l->n);
}

static bool does(const struct plog_record *r, int writes)
{
	enum raw_op op = (enum raw_op)(r->what >> 48 & 0xff);

	return writes ? op != RAW_READ && op != RAW_READ_RANGE
		      : op != RAW_WRITE && op != RAW_WRITE_RANGE;
}

/* Where it was, and what it did. */
static uint64_t place_of(const struct plog *l, const struct plog_record *r)
{
	return mix(mix(l->nodes[r->node].hash, r->pc & ~PLOG_KEEP),
		   (uint64_t)(does(r, 0) + 2 * does(r, 1)));
}

static bool is_same(const struct plog_record *a, const struct plog_record *b)
{
	return a->what == b->what && a->node == b->node && !((a->pc ^ b->pc) & ~PLOG_KEEP) &&
	       (!is_access(a) || (uint32_t)a->more == (uint32_t)b->more);
}

/*
 * Accesses of some bytes again and again, in one segment, in the same order: "A B A" was there, and
 * this is B. Then the second A is taken back, and it is as if it had been done once. All others are
 * of other bytes, and do not mind.
 */
static bool comes_round(struct access *a, enum raw_op op, uint64_t address, uint64_t size,
			uint32_t node, uint64_t pc)
{
	struct plog *l = a->l;
	struct plog_record this = {
		.what = plog_what(op, address, (uint32_t)size), .pc = pc, .node = node};
	uint32_t at[2 * ROUND] = {0}, n = 0;

	if (l->everything || op > RAW_UPDATE)
		return false;
	for (uint32_t i = a->e->chain; i > l->segment_at && n < 2 * ROUND - 1 &&
				       l->v[i - 1].more >> 32 == (uint64_t)(a->e - l->entries);
	     i = l->v[i - 1].prev)
		at[n++] = i;
	for (uint32_t p = 2; 2 * p - 1 <= n; p++) {
		uint32_t i = 0;

		/* at[0 .. p-2] and this, against at[p-1 .. 2p-2]. */
		if (!is_same(&this, &l->v[at[p - 1] - 1]))
			continue;
		while (i < p - 1 && is_same(&l->v[at[i] - 1], &l->v[at[p + i] - 1]) &&
		       at[i] > l->novel)
			i++;
		if (i < p - 1)
			continue;
		a->e->chain = at[p - 1];
		for (i = 0; i < p - 1; i++)
			l->v[at[i] - 1].what = 0;
		while (l->n && !l->v[l->n - 1].what)
			l->n--;
		return true;
	}
	return false;
}

void plog_access_slow(struct plog *l, enum raw_op op, uint64_t address, uint64_t size,
		      uint32_t node, uint64_t pc)
{
	bool reads = op != RAW_WRITE && op != RAW_WRITE_RANGE;
	bool writes = op != RAW_READ && op != RAW_READ_RANGE;
	bool ranged = op == RAW_READ_RANGE || op == RAW_WRITE_RANGE;
	struct access a = {.l = l, .does = {reads, writes}};
	bool put;

	if (l->full || !size)
		return;
	l->seq++;
	a.place = mix(mix(l->nodes[node].hash, pc), (uint64_t)(reads * 1 + writes * 2));
	each_entry(&a, address, size, 0);
	if (l->full)
		return;
	put = a.brings & NOVEL || (l->tx && a.brings) || l->everything;
	if (a.brings & NOVEL) {
		l->kept++;
		l->stable++;
		l->novel = l->n + 2; /* with a time before it */
		if (plog_memory)
			plog_memory->kept(address, size);
	} else if (a.brings & FIRST) {
		l->stable++;
	}
	if (put && a.brings == OTHER && a.entries == 1 &&
	    comes_round(&a, op, address, size, node, pc))
		put = false;
	if (put)
		put_access(&a, op, address, size, node, pc);
	if (a.entries == 1 && !ranged)
		remember(l, plog_what(op, address, (uint32_t)size), node, pc, !put && !a.brings);
	else
		for (uint64_t g = address >> 3; g <= (address + size - 1) >> 3; g++)
			l->fast[g & (PLOG_FAST - 1)].n = 0;
}

/* --- locks --- */

static struct plog_held *held(struct plog *l, uint64_t lock)
{
	for (size_t i = l->nheld; i-- > 0;)
		if (l->held[i].lock == lock)
			return &l->held[i];
	return NULL;
}

static void acquired_since(struct plog_held *h, uint64_t lock, bool shared)
{
	uint64_t hash = mix(lock, 7u + shared);

	for (uint32_t i = 0; i < h->nsince; i++)
		if (h->since[i] == hash)
			return;
	if (h->nsince < PLOG_SINCE)
		h->since[h->nsince++] = hash;
	h->since_sum += hash;
}

static void moved(struct plog *l)
{
	new_segment(l);
	l->state = state_now(l);
	enter_state(l);
}

/*
 * Is what was done last to all bytes, before a position of the log, what was done last behind it?
 * Both of reads and of writes.
 */
static bool changes_nothing(struct plog *l, size_t from)
{
	for (size_t i = l->n; i-- > from;) {
		const struct plog_record *r = &l->v[i], *other[2] = {NULL, NULL};
		struct plog_entry *e;
		uint64_t place[2];

		if (!is_access(r))
			continue;
		e = &l->entries[r->more >> 32];
		if (!(r->more >> 32) || e->split)
			return false;
		/* Each entry once: at its last record. */
		if (e->chain != i + 1)
			continue;
		for (uint32_t at = e->chain; at; at = l->v[at - 1].prev) {
			const struct plog_record *b = &l->v[at - 1];

			if (at > from)
				continue;
			for (int k = 0; k < 2; k++)
				if (!other[k] && does(b, k))
					other[k] = b;
		}
		for (int k = 0; k < 2; k++) {
			place[k] = other[k] ? place_of(l, other[k]) : 0;
			if (e->last[k].seq && place[k] != e->last[k].place)
				return false;
		}
	}
	return true;
}

static void acquire(struct plog *l, uint64_t lock, bool shared)
{
	struct plog_held *h;

	if (!grow(l, &l->held, &l->held_cap, l->nheld, sizeof *l->held))
		return;
	for (size_t i = 0; i < l->nheld; i++)
		acquired_since(&l->held[i], lock, shared);
	h = &l->held[l->nheld++];
	*h = (struct plog_held){.lock = lock,
				.times = 1,
				.shared = shared,
				.nested = true,
				.at = l->n,
				.before = l->state,
				.tx = l->tx,
				.kept = l->kept,
				.stable = l->stable};
	moved(l);
}

/* True: all since the acquire is taken back, and the release need not be told. */
static bool release(struct plog *l, struct plog_held *gone)
{
	size_t at = (size_t)(gone - l->held);
	struct plog_held h = *gone;
	bool last = at == l->nheld - 1;

	for (size_t i = at; i + 1 < l->nheld; i++) {
		l->held[i] = l->held[i + 1];
		l->held[i].nested = false;
	}
	l->nheld--;
	moved(l);
	if (l->everything || !last || !h.nested || h.at >= l->n || l->state != h.before ||
	    h.tx != l->tx || h.kept != l->kept)
		return false;
	if (l->tx && (h.stable != l->stable || l->nheld || l->tx_epoch != l->epoch ||
		      !changes_nothing(l, h.at)))
		return false;
	take_back(l, h.at);
	l->segment_at = l->n;
	return true;
}

/*
 * The last records are the same as those before them, and those before: then they need not be told,
 * and it is as if they had not been. (The first of the three may have begun with another history of
 * the same locks, the second has not.) In a transaction only: elsewhere they are gone already.
 */
static void come_round(struct plog *l)
{
	size_t most = l->n - l->tx_at - 1;

	if (l->everything || !l->tx)
		return;
	for (size_t m = 2; m <= ROUND_RECORDS && 3 * m <= most && l->n - m > l->novel; m++) {
		const struct plog_record *last = &l->v[l->n - 1];
		size_t i = 0;

		while (i < 2 * m && is_same(last - i, last - i - m))
			i++;
		if (i == 2 * m && !acquired_behind(l, l->n - m)) {
			take_back(l, l->n - m);
			l->segment_at = l->n;
			return;
		}
	}
}

void plog_lock(struct plog *l, enum raw_op op, uint64_t lock, uint32_t aux, uint64_t time,
	       uint32_t node, uint64_t pc)
{
	bool takes = op == RAW_ACQUIRE || op == RAW_ACQUIRE_SHARED || op == RAW_SEM_WAIT;
	bool sem = op == RAW_SEM_WAIT || op == RAW_SEM_POST;
	struct plog_held *h = held(l, lock);
	uint64_t kept = l->kept;

	if (l->full)
		return;
	l->time = time;
	if (sem) {
		/* Nobody knows yet whether it is a lock, or a variable that is updated. */
		struct access a = {.l = l, .does = {true, true}};

		l->seq++;
		a.place = mix(mix(l->nodes[node].hash, pc), 4);
		each_entry(&a, lock | 1ull << 47, 1, 0);
		l->kept += a.brings & NOVEL;
		l->stable += a.brings & (NOVEL | FIRST) ? 1 : 0;
		if (takes == (h != NULL) && !l->tx && l->kept == kept && !l->everything)
			return;
	}
	if (takes == (h != NULL)) {
		if (h)
			h->times++;
		if (!sem)
			return;
	} else if (takes) {
		acquire(l, lock, op == RAW_ACQUIRE_SHARED);
	} else if (--h->times) {
		if (!sem || (!l->tx && l->kept == kept && !l->everything))
			return;
	} else if (release(l, h)) {
		return;
	}
	append(l, plog_what(op, lock, aux), pc | PLOG_KEEP, time, node, 0);
	l->segment_at = l->n;
	if (!takes)
		come_round(l);
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
		l->stretch++;
	append(l, plog_what(op, address, aux), pc | PLOG_KEEP, time, node, 0);
	l->novel = l->n;
	moved(l);
}

void plog_forget(struct plog *l, uint64_t address, uint64_t size, uint64_t time, uint32_t node,
		 uint64_t pc)
{
	uint64_t pages = (size + RAW_PAGE - 1) / RAW_PAGE;

	plog_put(l, RAW_FORGET, address, 0, time, node, pc);
	if (!l->full)
		l->v[l->n - 1].prev = (uint32_t)(pages < UINT32_MAX ? pages : UINT32_MAX);
}
