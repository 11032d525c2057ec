#include "runtime/predict/log_impl.h"

#include "base/banned.h"

/*
 * As engine/predict/witness.h has it. A few more variants do no harm, since it decides again; those
 * beyond are not counted as alike, since it may not.
 */
enum { VARIANTS = 8, MORE_VARIANTS = 12, LIKE = 64 };

/* So many accesses that are repeated are noticed. */
enum { ROUND = 4 };

/* What a witness is of, as there. */
enum { KIND_R, KIND_W, KIND_PAIRS };

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
	if (!plog_table_room(l, &l->seen))
		return;
	at = hash >> 32 & l->seen.mask;
	while (l->seen.slot[at])
		at = (at + 1) & l->seen.mask;
	l->seen.slot[at] = hash;
	l->seen.n++;
}

/* The states that the thread has been in since, as one number. */
static uint64_t states_since(const struct plog *l, uint64_t seq)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > seq); i++)
		sum += plog_mix(l->states[i].hash, l->states[i].empty);
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
	return e->key ^ e->reuse * 0xc2b2ae3d27d4eb4full;
}

static struct plog_like *like_of(struct plog *l, uint64_t key)
{
	return &l->like[key % PLOG_LIKE];
}

/* One more of these places and locks; of an access of many bytes, one. */
static void count_like(struct plog *l, uint64_t key)
{
	struct plog_like *like = like_of(l, key);

	if (like->key != key && like->n < LIKE)
		*like = (struct plog_like){.key = key};
	if (like->key != key || like->seq == l->seq || like->n == LIKE)
		return;
	like->seq = l->seq;
	like->n++;
}

static bool is_common(struct plog *l, uint64_t key, uint64_t state)
{
	const struct plog_like *like = like_of(l, key);

	return like->key == key && like->n == LIKE && plog_is_known(l, state);
}

/* What is to be said of a witness: one more that the engine might keep; none; none ever. */
enum { NEW = 1, LATER = 2, NEVER = 0 };

/* What an entry knows by itself, of a hash. */
static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

static unsigned witness(struct plog *l, struct plog_entry *e, unsigned kind, uint64_t state,
			uint64_t place1, uint64_t place2)
{
	uint64_t first = plog_mix(plog_mix(entry_hash(e), kind), state), variant;
	uint64_t places = plog_mix(plog_mix(place1, 3), place2);
	uint64_t like = plog_mix(plog_mix(places, kind), state);
	uint32_t here = tag_of(plog_mix(places, l->epoch + 1ull));
	bool known = e->state[kind] == tag_of(state);

	if (!e->state[kind]) {
		e->state[kind] = tag_of(state);
		e->variant[kind] = here;
		count_like(l, like);
		return NEW;
	}
	if (!known && !is_seen(l, first)) {
		see(l, first);
		see(l, plog_mix(plog_mix(first, places), l->epoch));
		count_like(l, like);
		return NEW;
	}
	if (e->variants[kind] == MORE_VARIANTS || is_common(l, like, state))
		return NEVER;
	if (known && e->variant[kind] == here)
		return LATER;
	variant = plog_mix(plog_mix(first, places), l->epoch);
	if (is_seen(l, variant))
		return LATER;
	if (e->variants[kind]++ < VARIANTS)
		count_like(l, like);
	see(l, variant);
	return NEW;
}

static unsigned pair(struct plog *l, struct plog_entry *e, unsigned kind, const struct plog_did *e1,
		     uint64_t since, uint64_t place)
{
	const struct plog_state *free = let_go_since(l, e1->seq);
	unsigned any = NEVER;

	if (free)
		return witness(l, e, kind, free->hash, e1->place, place);
	if (since < e1->seq)
		since = e1->seq;
	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > since);
	     i++)
		any |= witness(l, e, kind, l->states[i].hash, e1->place, place);
	return any;
}

static unsigned pairs(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	unsigned any = NEVER;

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

/*
 * All that the answer depends on beside the entry, as one number; but not how many waits and
 * barriers there were.
 */
static uint64_t question(const struct plog *l, const struct plog_entry *e, uint64_t place)
{
	uint64_t h = plog_mix(place, l->state);

	if (!l->tx)
		return h;
	h = plog_mix(h, 2 + (l->tx_epoch == l->epoch));
	for (int k = 0; k < 2; k++) {
		if (!e->first[k].seq)
			continue;
		h = plog_mix(plog_mix(h, e->first[k].place + (uint64_t)k), e->last[k].place);
		if (l->nstates > 1)
			h = plog_mix(plog_mix(h, states_since(l, e->first[k].seq)),
				     states_since(l, e->last[k].seq));
	}
	return h;
}

/*
 * Was this asked? In half of a hash, two questions are the same one time in half a billion: then as
 * many new accesses are lost.
 */
static bool was_met(const struct plog_entry *e, uint64_t question)
{
	uint32_t tag = (uint32_t)(question >> 32) | 1;
	bool any = false;

	for (unsigned i = 0; i < PLOG_MET; i++)
		any |= e->met[i] == tag;
	return any;
}

static void meet(struct plog_entry *e, uint64_t question)
{
	e->met[e->oldest++ % PLOG_MET] = (uint32_t)(question >> 32) | 1;
}

/* Are there witnesses that the engine might keep? */
static bool is_new(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	uint64_t ever = question(l, e, place), now = plog_mix(ever, l->epoch + 1ull);
	unsigned any = NEVER;

	if (was_met(e, ever) || was_met(e, now))
		return false;
	for (unsigned k = 0; k < 2; k++)
		if (does[k])
			any |= witness(l, e, KIND_R + k, l->state, 0, place);
	if (l->tx)
		any |= pairs(l, e, does, place);
	/* What never brings anything does not after more waits either. */
	meet(e, any == NEVER ? ever : now);
	return any & NEW;
}

/* What an access of these bytes brings; from now on it has happened. */
static unsigned judge(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	struct plog_did this = {l->seq, place};
	unsigned brings = 0;

	if (plog_memory) {
		uint16_t now = plog_memory->generation(e->key >> 8 << 3);

		if (e->generation != now && (e->reuse < PLOG_REUSES || plog_memory->plenty())) {
			e->reuse++;
			__builtin_memset(e->met, 0, sizeof e->met);
			__builtin_memset(e->state, 0, sizeof e->state);
			__builtin_memset(e->variants, 0, sizeof e->variants);
		}
		e->generation = now;
	}
	if (l->tx && e->tx != l->tx) {
		brings = PLOG_FIRST;
		e->tx = l->tx;
		e->chain = 0;
		e->hot = false;
		e->first[0].seq = e->first[1].seq = e->last[0].seq = e->last[1].seq = 0;
	}
	if (is_new(l, e, does, place))
		brings |= PLOG_NOVEL;
	if (!l->tx)
		return brings;
	for (int k = 0; k < 2; k++) {
		if (!does[k])
			continue;
		if (e->last[k].place != place || e->last[k].seq <= l->segment_seq)
			brings |= PLOG_OTHER;
		e->last[k] = this;
		if (!e->first[k].seq)
			e->first[k] = this;
	}
	return brings;
}

/* --- bytes --- */

/* The block of a granule, or NULL. */
static inline struct plog_block *find_block(struct plog *l, uint64_t granule)
{
	uint64_t key = granule / PLOG_BLOCK, tag;
	struct plog_near *near = &l->near[key % PLOG_NEAR];
	const struct plog_table *t = &l->by_bytes;

	if (RT_LIKELY(near->block && near->key == key))
		return &l->blocks[near->block];
	tag = plog_mix(key, 1) >> 32;
	for (uint64_t at = tag & t->mask; t->mask && t->slot[at]; at = (at + 1) & t->mask) {
		uint32_t block = (uint32_t)t->slot[at];

		if (t->slot[at] >> 32 != tag || l->blocks[block].key != key)
			continue;
		*near = (struct plog_near){key, block};
		return &l->blocks[block];
	}
	return NULL;
}

/* Of these bytes of a granule; 0: of the first that came. */
static inline struct plog_entry *find_entry(struct plog *l, uint64_t granule, uint64_t bytes)
{
	const struct plog_block *b = find_block(l, granule);
	uint32_t i = b ? b->entry[granule % PLOG_BLOCK] : 0;

	while (i && (l->entries[i].key & 0xff) != bytes)
		i = l->entries[i].next;
	return i ? &l->entries[i] : NULL;
}

static struct plog_block *make_block(struct plog *l, uint64_t granule)
{
	uint64_t key = granule / PLOG_BLOCK;

	if (!plog_grow(l, &l->blocks, &l->block_cap, l->nblocks, sizeof *l->blocks) ||
	    !plog_add(l, &l->by_bytes, plog_mix(key, 1), (uint32_t)l->nblocks))
		return NULL;
	l->blocks[l->nblocks].key = key;
	return &l->blocks[l->nblocks++];
}

static struct plog_entry *make_entry(struct plog *l, uint64_t granule, uint64_t bytes)
{
	struct plog_block *b = find_block(l, granule);
	uint32_t *first;
	struct plog_entry *e;

	if (!b)
		b = make_block(l, granule);
	if (!b || !plog_grow(l, &l->entries, &l->entry_cap, l->nentries, sizeof *e))
		return NULL;
	first = &b->entry[granule % PLOG_BLOCK];
	e = &l->entries[l->nentries];
	e->key = granule << 8 | bytes;
	if (plog_memory)
		e->generation = plog_memory->generation(granule << 3);
	if (!*first) {
		*first = (uint32_t)l->nentries;
	} else {
		e->next = l->entries[*first].next;
		l->entries[*first].next = (uint32_t)l->nentries;
	}
	l->nentries++;
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
		struct plog_entry *one = bytes & b ? make_entry(l, granule, b) : NULL;

		if (one) {
			uint32_t next = one->next;

			*one = whole;
			one->key = granule << 8 | b;
			one->next = next;
			if (bytes & (b - 1))
				one->edges &= (uint8_t)~PLOG_BEGINS;
			if (bytes & ~(2 * b - 1))
				one->edges &= (uint8_t)~PLOG_ENDS;
		} else if (bytes & b) {
			return false;
		}
	}
	return true;
}

/* Bytes that overlap with others were accessed. */
static void split(struct plog *l, uint64_t granule)
{
	struct plog_entry *e = find_entry(l, granule, 0);

	if (!split_one(l, e, e->bytes))
		return;
	for (unsigned from = 0; from < 8; from++)
		for (unsigned n = 2; from + n <= 8; n++) {
			uint64_t bytes = ((1ull << n) - 1) << from;

			e = find_entry(l, granule, bytes);
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
	struct plog_entry *first = find_entry(l, granule, 0), *e;

	if (!first) {
		first = make_entry(l, granule, 0);
		if (first)
			first->bytes = first->all = (uint8_t)bytes;
		return first;
	}
	if (first->bytes == bytes && !first->split)
		return first;
	e = find_entry(l, granule, bytes);
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
	return make_entry(l, granule, bytes);
}

/* --- accesses --- */

struct access {
	struct plog *l;
	uint64_t address, size;
	uint64_t place;
	bool does[2];
	unsigned brings; /* of all its bytes together */
	uint32_t entries;
	struct plog_entry *e; /* the last */
	bool hot;
};

/* Bytes [from, to) of it are an entry's: does it begin or end where no other has? */
static unsigned brings_edge(const struct access *a, struct plog_entry *e, uint64_t from,
			    uint64_t to)
{
	uint8_t edges = (uint8_t)((from == a->address ? PLOG_BEGINS : 0) |
				  (to == a->address + a->size ? PLOG_ENDS : 0));

	if (!(edges & ~e->edges))
		return 0;
	e->edges |= edges;
	return PLOG_NOVEL;
}

/* Where its record is. */
static void link_entry(struct access *a, struct plog_entry *e, uint32_t record)
{
	if (a->brings & PLOG_NOVEL || a->entries > 1)
		keep_chain(a->l, e);
	if (a->brings & PLOG_NOVEL)
		e->hot = true;
	e->chain = record;
}

static void on_entry(struct access *a, struct plog_entry *e, uint64_t from, uint64_t to,
		     uint32_t record)
{
	if (!e)
		return;
	if (record) {
		link_entry(a, e, record);
		return;
	}
	a->e = e;
	a->entries++;
	a->brings |= judge(a->l, e, a->does, a->place) | brings_edge(a, e, from, to);
	a->hot |= a->l->tx && e->hot;
}

/* All is looked at twice: first for what it brings, then to tell where its record is. */
static void each_entry(struct access *a, uint32_t record)
{
	uint64_t end = a->address + a->size;

	for (uint64_t at = a->address; at < end && !a->l->full; at = (at | 7) + 1) {
		uint64_t to = end < (at | 7) + 1 ? end : (at | 7) + 1;
		uint64_t bytes = ((1ull << (to - at)) - 1) << (at & 7);
		struct plog_entry *e = entry_of(a->l, at >> 3, bytes);

		if (e) {
			on_entry(a, e, at, to, record);
			continue;
		}
		for (uint64_t b = at; b < to && !a->l->full; b++)
			on_entry(a, entry_of(a->l, b >> 3, 1ull << (b & 7)), b, b + 1, record);
	}
}

void plog_forget_chains(struct plog *l, const struct plog_record *r)
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
	bool keep = !l->tx || a->brings & PLOG_NOVEL || a->hot || l->everything;
	uint32_t one = a->entries == 1 ? (uint32_t)(a->e - l->entries) : 0;
	uint32_t prev = one && l->tx ? a->e->chain : 0;

	if (l->later)
		plog_append(l, plog_what((enum raw_op)PLOG_TIME, 0, 0), 0, l->later, node, 0);
	l->later = 0;
	plog_append(l, plog_what(op, address, ranged ? 0 : (uint32_t)size),
		    pc | (keep ? PLOG_KEEP : 0),
		    (uint64_t)one << 32 | (ranged ? (size < UINT32_MAX ? size : UINT32_MAX) : 0),
		    node, prev);
	if (!l->tx || l->full)
		return;
	if (a->entries == 1)
		link_entry(a, a->e, (uint32_t)l->n);
	else
		each_entry(a, (uint32_t)l->n);
}

bool plog_does(const struct plog_record *r, int writes)
{
	enum raw_op op = (enum raw_op)(r->what >> 48 & 0xff);

	return writes ? op != RAW_READ && op != RAW_READ_RANGE
		      : op != RAW_WRITE && op != RAW_WRITE_RANGE;
}

uint64_t plog_place(const struct plog *l, const struct plog_record *r)
{
	return plog_mix(plog_mix(l->nodes[r->node].place, r->pc & ~PLOG_KEEP),
			(uint64_t)(plog_does(r, 0) + 2 * plog_does(r, 1)));
}

bool plog_is_same(const struct plog_record *a, const struct plog_record *b)
{
	return a->what == b->what && a->node == b->node && !((a->pc ^ b->pc) & ~PLOG_KEEP) &&
	       (!plog_is_access(a) || (uint32_t)a->more == (uint32_t)b->more);
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
	for (uint32_t p = 1; 2 * p - 1 <= n; p++) {
		uint32_t i = 0;

		/* at[0 .. p-2] and this, against at[p-1 .. 2p-2]. */
		if (!plog_is_same(&this, &l->v[at[p - 1] - 1]))
			continue;
		while (i < p - 1 && plog_is_same(&l->v[at[i] - 1], &l->v[at[p + i] - 1]) &&
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
	struct access a = {.l = l, .address = address, .size = size, .does = {reads, writes}};
	bool put;

	if (l->full || !size)
		return;
	l->seq++;
	a.place = plog_mix(plog_mix(l->nodes[node].place, pc), (uint64_t)(reads * 1 + writes * 2));
	each_entry(&a, 0);
	if (l->full)
		return;
	put = a.brings & PLOG_NOVEL || (l->tx && a.brings) || l->everything;
	if (a.brings & PLOG_NOVEL) {
		l->kept++;
		l->stable++;
		l->novel = l->n + 2; /* with a time before it */
		if (plog_memory)
			plog_memory->kept(address, size);
	} else if (a.brings & PLOG_FIRST) {
		l->stable++;
	}
	if (a.brings & (PLOG_NOVEL | PLOG_FIRST))
		plog_refresh(l, a.brings & PLOG_NOVEL);
	if (put && a.brings == PLOG_OTHER && a.entries == 1 &&
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

unsigned plog_semaphore(struct plog *l, uint64_t address, uint32_t node, uint64_t pc)
{
	struct access a = {
		.l = l, .address = address | 1ull << 47, .size = 1, .does = {true, true}};

	l->seq++;
	a.place = plog_mix(plog_mix(l->nodes[node].place, pc), 4);
	each_entry(&a, 0);
	return a.brings;
}
