#include "runtime/predict/log_impl.h"

#include "base/banned.h"

/*
 * WITNESS_VARIANTS and WITNESS_LIKE of engine/predict/witness.h. A few more variants do no harm,
 * since the engine decides again; those beyond VARIANTS are not counted as alike, since the engine
 * may not keep them.
 */
enum { VARIANTS = 8, MORE_VARIANTS = 12, LIKE = 64 };

/* The most accesses of a round that drop_repeated_access() notices. */
enum { ROUND = 4 };

/* Kinds of witnesses: enum witness_kind there. */
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

static void add_seen(struct plog *l, uint64_t hash)
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

/* Returns a hash of the states that the transaction has been in since `seq`. */
static uint64_t hash_states_since(const struct plog *l, uint64_t seq)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > seq); i++)
		sum += plog_mix(l->states[i].hash, l->states[i].empty);
	return sum;
}

/* Returns a state without locks in which the transaction has been since `seq`, or NULL. */
static const struct plog_state *find_empty_state(const struct plog *l, uint64_t seq)
{
	if (l->tx_epoch != l->epoch)
		return NULL;
	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > seq); i++)
		if (l->states[i].empty)
			return &l->states[i];
	return NULL;
}

/* --- witnesses --- */

static uint64_t hash_entry(const struct plog_entry *e)
{
	return e->key ^ e->reuse * 0xc2b2ae3d27d4eb4full;
}

static struct plog_like *like_of(struct plog *l, uint64_t key)
{
	return &l->like[key % PLOG_LIKE];
}

/* Count one more with these places and locks; an access of many bytes counts once. */
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

/* Does the engine have enough witnesses with this key? */
static bool is_common(struct plog *l, uint64_t key, uint64_t state)
{
	const struct plog_like *like = like_of(l, key);

	return like->key == key && like->n == LIKE && plog_is_known(l, state);
}

/*
 * What add_witness() says: the witness is new, and the engine may keep it; not now; or never, not
 * even after more waits and barriers.
 */
enum { NEW = 1, LATER = 2, NEVER = 0 };

/* Returns the half of a hash that an entry stores; never 0. */
static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

/* Note a witness of an entry's bytes. `place1`: of a pair's first access; 0 if it is no pair. */
static unsigned add_witness(struct plog *l, struct plog_entry *e, unsigned kind, uint64_t state,
			    uint64_t place1, uint64_t place2)
{
	uint64_t first = plog_mix(plog_mix(hash_entry(e), kind), state), variant;
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
		add_seen(l, first);
		add_seen(l, plog_mix(plog_mix(first, places), l->epoch));
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
	add_seen(l, variant);
	return NEW;
}

/*
 * Note the witnesses of the pair of `e1` and the current access: one for a state without locks
 * between them if there is one, else one for each state since `since`.
 */
static unsigned add_pair(struct plog *l, struct plog_entry *e, unsigned kind,
			 const struct plog_did *e1, uint64_t since, uint64_t place)
{
	const struct plog_state *free = find_empty_state(l, e1->seq);
	unsigned any = NEVER;

	if (free)
		return add_witness(l, e, kind, free->hash, e1->place, place);
	if (since < e1->seq)
		since = e1->seq;
	for (size_t i = 0; i < l->nstates && (!l->states[i].leave || l->states[i].leave > since);
	     i++)
		any |= add_witness(l, e, kind, l->states[i].hash, e1->place, place);
	return any;
}

/* Note the pairs of the current access with the first and the last read and write before it. */
static unsigned add_pairs(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	unsigned any = NEVER;

	for (unsigned k = 0; k < 4; k++) {
		const struct plog_did *far = &e->first[k >> 1], *near = &e->last[k >> 1];

		if (!does[k & 1] || !far->seq)
			continue;
		any |= add_pair(l, e, KIND_PAIRS + k, far, e->last[k & 1].seq, place);
		if (near->place != far->place)
			any |= add_pair(l, e, KIND_PAIRS + k, near, e->last[k & 1].seq, place);
	}
	return any;
}

/*
 * Returns a hash of all that is_new() depends on besides the entry, except the number of waits and
 * barriers: the question that an access asks.
 */
static uint64_t hash_question(const struct plog *l, const struct plog_entry *e, uint64_t place)
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
			h = plog_mix(plog_mix(h, hash_states_since(l, e->first[k].seq)),
				     hash_states_since(l, e->last[k].seq));
	}
	return h;
}

/*
 * Was this question asked lately? Only half of the hash is compared: about one question in half a
 * billion is taken for another, and then a new access is lost.
 */
static bool was_asked(const struct plog_entry *e, uint64_t question)
{
	uint32_t tag = (uint32_t)(question >> 32) | 1;
	bool any = false;

	for (unsigned i = 0; i < PLOG_ASKED; i++)
		any |= e->asked[i] == tag;
	return any;
}

static void note_asked(struct plog_entry *e, uint64_t question)
{
	e->asked[e->oldest++ % PLOG_ASKED] = (uint32_t)(question >> 32) | 1;
}

/* Does the access have witnesses that the engine may keep, and that the log has not? */
static bool is_new(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	uint64_t ever = hash_question(l, e, place), now = plog_mix(ever, l->epoch + 1ull);
	unsigned any = NEVER;

	if (was_asked(e, ever) || was_asked(e, now))
		return false;
	for (unsigned k = 0; k < 2; k++)
		if (does[k])
			any |= add_witness(l, e, KIND_R + k, l->state, 0, place);
	if (l->tx)
		any |= add_pairs(l, e, does, place);
	/* If the answer is never, it stays so after more waits. */
	note_asked(e, any == NEVER ? ever : now);
	return any & NEW;
}

/* Returns what an access of the entry's bytes brings, and notes it in the entry. */
static unsigned judge_access(struct plog *l, struct plog_entry *e, const bool *does, uint64_t place)
{
	struct plog_did this = {l->seq, place};
	unsigned brings = 0;

	if (plog_memory) {
		uint16_t now = plog_memory->generation(e->key >> 8 << 3);

		if (e->generation != now && (e->reuse < PLOG_REUSES || plog_memory->has_plenty())) {
			e->reuse++;
			__builtin_memset(e->asked, 0, sizeof e->asked);
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
		if (e->last[k].place != place || e->last[k].seq <= l->burst_seq)
			brings |= PLOG_OTHER;
		e->last[k] = this;
		if (!e->first[k].seq)
			e->first[k] = this;
	}
	return brings;
}

/* --- entries --- */

/* Returns the group of a granule, or NULL. */
static inline struct plog_group *find_group(struct plog *l, uint64_t granule)
{
	uint64_t key = granule / PLOG_GROUP, tag;
	struct plog_near *near = &l->near[key % PLOG_NEAR];
	const struct plog_table *t = &l->by_bytes;

	if (RT_LIKELY(near->group && near->key == key))
		return &l->groups[near->group];
	tag = plog_mix(key, 1) >> 32;
	for (uint64_t at = tag & t->mask; t->mask && t->slot[at]; at = (at + 1) & t->mask) {
		uint32_t group = (uint32_t)t->slot[at];

		if (t->slot[at] >> 32 != tag || l->groups[group].key != key)
			continue;
		*near = (struct plog_near){key, group};
		return &l->groups[group];
	}
	return NULL;
}

/* Returns the entry of these bytes of a granule, or NULL; bytes 0: its first entry. */
static inline struct plog_entry *find_entry(struct plog *l, uint64_t granule, uint64_t bytes)
{
	const struct plog_group *b = find_group(l, granule);
	uint32_t i = b ? b->entry[granule % PLOG_GROUP] : 0;

	while (i && (l->entries[i].key & 0xff) != bytes)
		i = l->entries[i].next;
	return i ? &l->entries[i] : NULL;
}

static struct plog_group *make_group(struct plog *l, uint64_t granule)
{
	uint64_t key = granule / PLOG_GROUP;

	if (!plog_grow(l, &l->groups, &l->group_cap, l->ngroups, sizeof *l->groups) ||
	    !plog_add(l, &l->by_bytes, plog_mix(key, 1), (uint32_t)l->ngroups))
		return NULL;
	l->groups[l->ngroups].key = key;
	return &l->groups[l->ngroups++];
}

static struct plog_entry *make_entry(struct plog *l, uint64_t granule, uint64_t bytes)
{
	struct plog_group *b = find_group(l, granule);
	uint32_t *first;
	struct plog_entry *e;

	if (!b)
		b = make_group(l, granule);
	if (!b || !plog_grow(l, &l->entries, &l->entry_cap, l->nentries, sizeof *e))
		return NULL;
	first = &b->entry[granule % PLOG_GROUP];
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

/* Keep all accesses of these bytes that the transaction has done. */
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

/* Give each byte of an entry an entry of its own, with a copy of all that is known. */
static bool split_entry(struct plog *l, struct plog_entry *e, uint64_t bytes)
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
				one->boundaries &= (uint8_t)~PLOG_BEGINS;
			if (bytes & ~(2 * b - 1))
				one->boundaries &= (uint8_t)~PLOG_ENDS;
		} else if (bytes & b) {
			return false;
		}
	}
	return true;
}

/*
 * Give each byte of a granule an entry of its own: bytes were accessed that overlap those of an
 * entry.
 */
static void split_granule(struct plog *l, uint64_t granule)
{
	struct plog_entry *e = find_entry(l, granule, 0);

	if (!split_entry(l, e, e->bytes))
		return;
	for (unsigned from = 0; from < 8; from++)
		for (unsigned n = 2; from + n <= 8; n++) {
			uint64_t bytes = ((1ull << n) - 1) << from;

			e = find_entry(l, granule, bytes);
			if (e && !split_entry(l, e, bytes))
				return;
		}
}

/*
 * Returns the entry of all these bytes, a new one if need be; NULL if each has its own, or if there
 * is no memory. The granule's first entry knows which bytes have one.
 */
static struct plog_entry *get_entry(struct plog *l, uint64_t granule, uint64_t bytes)
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
		split_granule(l, granule);
		if (l->full)
			return NULL;
		return get_entry(l, granule, bytes);
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
	uint64_t place;       /* and what it does: plog_place() */
	bool does[2];         /* it reads; it writes */
	unsigned brings;      /* all its bytes together */
	uint32_t entries;     /* how many it has */
	struct plog_entry *e; /* the last of them */
	bool hot;             /* some entry is */
};

/*
 * The entry has bytes [from, to) of the access. Returns PLOG_NOVEL if the access begins or ends
 * there, and none has before.
 */
static unsigned add_boundaries(const struct access *a, struct plog_entry *e, uint64_t from,
			       uint64_t to)
{
	uint8_t boundaries = (uint8_t)((from == a->address ? PLOG_BEGINS : 0) |
				       (to == a->address + a->size ? PLOG_ENDS : 0));

	if (!(boundaries & ~e->boundaries))
		return 0;
	e->boundaries |= boundaries;
	return PLOG_NOVEL;
}

/* The access's record, 1 + its index, is the last one of the entry's bytes. */
static void link_entry(struct access *a, struct plog_entry *e, uint32_t record)
{
	if (a->brings & PLOG_NOVEL || a->entries > 1)
		keep_chain(a->l, e);
	if (a->brings & PLOG_NOVEL)
		e->hot = true;
	e->chain = record;
}

static void judge_or_link(struct access *a, struct plog_entry *e, uint64_t from, uint64_t to,
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
	a->brings |= judge_access(a->l, e, a->does, a->place) | add_boundaries(a, e, from, to);
	a->hot |= a->l->tx && e->hot;
}

/*
 * Visit each entry of the access. Called twice: without a record to judge what the access brings,
 * then with its record, to link the entries to it.
 */
static void visit_entries(struct access *a, uint32_t record)
{
	uint64_t end = a->address + a->size;

	for (uint64_t at = a->address; at < end && !a->l->full; at = (at | 7) + 1) {
		uint64_t to = end < (at | 7) + 1 ? end : (at | 7) + 1;
		uint64_t bytes = ((1ull << (to - at)) - 1) << (at & 7);
		struct plog_entry *e = get_entry(a->l, at >> 3, bytes);

		if (e) {
			judge_or_link(a, e, at, to, record);
			continue;
		}
		for (uint64_t b = at; b < to && !a->l->full; b++)
			judge_or_link(a, get_entry(a->l, b >> 3, 1ull << (b & 7)), b, b + 1,
				      record);
	}
}

void plog_forget_chains(struct plog *l, const struct plog_record *r)
{
	uint32_t aux = (uint32_t)(r->what >> 56);
	uint64_t address = r->what & RAW_ADDRESS_MASK,
		 end = address + (aux ? aux : (uint32_t)r->more);

	for (uint64_t at = address; at < end && !l->full; at = (at | 7) + 1) {
		uint64_t to = end < (at | 7) + 1 ? end : (at | 7) + 1;
		struct plog_entry *e = get_entry(l, at >> 3, ((1ull << (to - at)) - 1) << (at & 7));

		if (e)
			e->chain = 0;
		for (uint64_t b = at; b < to && !e && !l->full; b++)
			get_entry(l, b >> 3, 1ull << (b & 7))->chain = 0;
	}
}

/*
 * Remember for plog_is_repeat() that an access brought nothing (`nothing`). Any other access of the
 * granule makes the log forget the ones before.
 */
static void remember_access(struct plog *l, uint64_t what, uint32_t node, uint64_t pc, bool nothing)
{
	struct plog_fast *f = &l->fast[(what >> 3) & (PLOG_FAST - 1)];
	uint64_t granule = (what & RAW_ADDRESS_MASK) >> 3;

	if (f->granule != granule || f->burst != l->burst || !nothing || f->n == PLOG_WAYS) {
		f->granule = granule;
		f->burst = l->burst;
		f->n = 0;
	}
	if (!nothing)
		return;
	f->way[f->n].what = what;
	f->way[f->n].pc = pc;
	f->way[f->n++].node = node;
}

/* Append the record of an access. */
static void append_access(struct access *a, enum raw_op op, uint64_t address, uint64_t size,
			  uint32_t node, uint64_t pc)
{
	struct plog *l = a->l;
	bool ranged = op == RAW_READ_RANGE || op == RAW_WRITE_RANGE;
	bool keep = !l->tx || a->brings & PLOG_NOVEL || a->hot || l->everything;
	uint32_t one = a->entries == 1 ? (uint32_t)(a->e - l->entries) : 0;
	uint32_t prev = one && l->tx ? a->e->chain : 0;

	if (l->not_before)
		plog_append(l, plog_what((enum raw_op)PLOG_TIME, 0, 0), 0, l->not_before, node, 0);
	l->not_before = 0;
	plog_append(l, plog_what(op, address, ranged ? 0 : (uint32_t)size),
		    pc | (keep ? PLOG_KEEP : 0),
		    (uint64_t)one << 32 | (ranged ? (size < UINT32_MAX ? size : UINT32_MAX) : 0),
		    node, prev);
	if (!l->tx || l->full)
		return;
	if (a->entries == 1)
		link_entry(a, a->e, (uint32_t)l->n);
	else
		visit_entries(a, (uint32_t)l->n);
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
 * Notice accesses of the same bytes that are repeated in the same order within a burst: the log has
 * "A B A", and this is B. Then remove the second A, and return true: it is as if "A B" had been
 * done once. Records of other bytes between them stay as they are.
 */
static bool drop_repeated_access(struct access *a, enum raw_op op, uint64_t address, uint64_t size,
				 uint32_t node, uint64_t pc)
{
	struct plog *l = a->l;
	struct plog_record this = {
		.what = plog_what(op, address, (uint32_t)size), .pc = pc, .node = node};
	uint32_t at[2 * ROUND] = {0}, n = 0;

	if (l->everything || op > RAW_UPDATE)
		return false;
	for (uint32_t i = a->e->chain; i > l->burst_at && n < 2 * ROUND - 1 &&
				       l->v[i - 1].more >> 32 == (uint64_t)(a->e - l->entries);
	     i = l->v[i - 1].prev)
		at[n++] = i;
	for (uint32_t p = 1; 2 * p - 1 <= n; p++) {
		uint32_t i = 0;

		/* Compare at[0 .. p-2] and this with at[p-1 .. 2p-2]. */
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
	visit_entries(&a, 0);
	if (l->full)
		return;
	put = a.brings & PLOG_NOVEL || (l->tx && a.brings) || l->everything;
	if (a.brings & PLOG_NOVEL) {
		l->kept++;
		l->stable++;
		l->novel = l->n + 2; /* there may be a PLOG_TIME before it */
		if (plog_memory)
			plog_memory->mark_kept(address, size);
	} else if (a.brings & PLOG_FIRST) {
		l->stable++;
	}
	if (a.brings & (PLOG_NOVEL | PLOG_FIRST))
		plog_refresh(l, a.brings & PLOG_NOVEL);
	if (put && a.brings == PLOG_OTHER && a.entries == 1 &&
	    drop_repeated_access(&a, op, address, size, node, pc))
		put = false;
	if (put)
		append_access(&a, op, address, size, node, pc);
	if (a.entries == 1 && !ranged)
		remember_access(l, plog_what(op, address, (uint32_t)size), node, pc,
				!put && !a.brings);
	else
		for (uint64_t g = address >> 3; g <= (address + size - 1) >> 3; g++)
			l->fast[g & (PLOG_FAST - 1)].n = 0;
}

unsigned plog_judge_semaphore(struct plog *l, uint64_t address, uint32_t node, uint64_t pc)
{
	struct access a = {
		.l = l, .address = address | 1ull << 47, .size = 1, .does = {true, true}};

	l->seq++;
	a.place = plog_mix(plog_mix(l->nodes[node].place, pc), 4);
	visit_entries(&a, 0);
	return a.brings;
}
