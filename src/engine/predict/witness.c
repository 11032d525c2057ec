#include "engine/predict/witness.h"

#include "engine/predict/two.h"

#include "base/banned.h"

/* The number of a transaction that no witness has needed yet. */
#define NO_TX UINT32_MAX

/* Prefetch an entry so many events ahead, and the number of the entry twice as many ahead. */
enum { PREFETCH = 8 };

void witnesses_init(struct witnesses *w)
{
	*w = (struct witnesses){0};
	lockhist_init(&w->hist);
	w->met = mem_zalloc(WITNESS_MET * sizeof *w->met);
}

void witnesses_free(struct witnesses *w)
{
	for (size_t i = 0; i < w->nthreads; i++) {
		mem_free(w->thread[i].entry);
		map_free(&w->thread[i].entries);
	}
	two_free(w->two);
	mem_free(w->met);
	lockhist_free(&w->hist);
	mem_free(w->v);
	mem_free(w->entry);
	mem_free(w->now);
	mem_free(w->state);
	mem_free(w->stretch);
	mem_free(w->thread);
	mem_free(w->tx);
	mem_free(w->var);
	mem_free(w->across);
	regions_free(&w->regions);
	map_free(&w->by_key);
	map_free(&w->like);
	map_free(&w->moves);
	map_free(&w->state_ids);
	*w = (struct witnesses){0};
}

static uint32_t state_of(struct witnesses *w, uint32_t hist, uint32_t stretch)
{
	struct witness_thread *t = &w->thread[w->stretch[stretch].thread];
	uint64_t key = (uint64_t)hist << 32 | stretch;
	uint32_t id = map_get(&w->state_ids, key);

	if (id != MAP_NONE)
		return id;
	MEM_GROW0(w->state, w->state_cap, w->nstates + 1);
	w->state[w->nstates] = (struct witness_state){
		.hist = hist, .stretch = stretch, .bit = t->nstates < 64 ? 1ull << t->nstates : 0};
	t->nstates++;
	if (hist == LOCKHIST_EMPTY)
		t->empty = (uint32_t)w->nstates;
	map_set(&w->state_ids, key, (uint32_t)w->nstates);
	return (uint32_t)w->nstates++;
}

static uint32_t new_stretch(struct witnesses *w, uint32_t thread, uint32_t index, uint32_t from)
{
	MEM_GROW(w->stretch, w->stretch_cap, w->nstretches + 1);
	w->stretch[w->nstretches] = (struct witness_stretch){thread, index, from};
	return (uint32_t)w->nstretches++;
}

/* Begin a thread, at its first event or its fork. */
static void begin_thread(struct witnesses *w, uint32_t thread, uint32_t from)
{
	struct witness_thread *t = &w->thread[thread];

	t->stretch = new_stretch(w, thread, 0, from);
	t->state = state_of(w, LOCKHIST_EMPTY, t->stretch);
}

/* Move the thread's state to the front of its transaction's list. */
static void move_to_front(struct witnesses *w, struct witness_thread *t, uint64_t event)
{
	struct witness_state *s = &w->state[t->state];

	if (s->tx == t->tx) {
		if (s->older != WITNESS_NONE)
			w->state[s->older].newer = s->newer;
		if (s->newer != WITNESS_NONE)
			w->state[s->newer].older = s->older;
		if (t->newest == t->state)
			t->newest = s->older;
	}
	if (s->tx != t->tx)
		s->first = event;
	s->tx = t->tx;
	s->enter = event;
	s->leave = 0;
	s->newer = WITNESS_NONE;
	s->older = t->newest;
	if (t->newest != WITNESS_NONE)
		w->state[t->newest].newer = t->state;
	t->newest = t->state;
}

static void enter(struct witnesses *w, struct witness_thread *t, uint32_t state, uint64_t event)
{
	if (t->tx)
		w->state[t->state].leave = event;
	t->state = state;
	if (t->tx)
		move_to_front(w, t, event);
}

static void next_stretch(struct witnesses *w, uint32_t thread, uint32_t from, uint64_t event)
{
	struct witness_thread *t = &w->thread[thread];
	uint32_t hist = w->state[t->state].hist;

	t->stretch = new_stretch(w, thread, w->stretch[t->stretch].index + 1, from);
	t->empty = WITNESS_NONE;
	t->kept_locks = hist != LOCKHIST_EMPTY;
	enter(w, t, state_of(w, hist, t->stretch), event);
}

static void take_lock(struct witnesses *w, const struct event *e, uint64_t event)
{
	struct witness_thread *t = &w->thread[e->thread];
	uint64_t key = (uint64_t)t->state << 32 | e->operand << 1 |
		       (e->op == OP_ACQUIRE || e->op == OP_RELEASE);
	uint32_t to = map_get(&w->moves, key);

	if (to == MAP_NONE) {
		bool unnested = false;
		uint32_t hist = lockhist_step(&w->hist, w->state[t->state].hist, (enum op)e->op,
					      e->operand, &unnested);

		to = state_of(w, hist, t->stretch);
		map_set(&w->moves, key, to);
		w->unnested += unnested;
	}
	enter(w, t, to, event);
	if (w->two && t->tx)
		two_take_lock(w, e);
	/* A child may wait for this lock: what follows differs from the same state before. */
	if (t->kept_locks && (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED))
		next_stretch(w, e->thread, WITNESS_NONE, event);
}

static void take_fork(struct witnesses *w, const struct event *e, uint64_t event)
{
	if (w->thread[e->operand].stretch == WITNESS_NONE)
		begin_thread(w, e->operand, w->thread[e->thread].stretch);
	next_stretch(w, e->thread, WITNESS_NONE, event);
}

static void take_join(struct witnesses *w, const struct event *e, uint64_t event)
{
	struct witness_thread *child = &w->thread[e->operand];

	/* Further joins of the same thread add nothing that needs a stretch. */
	if (child->joined || child->stretch == WITNESS_NONE)
		return;
	child->joined = true;
	next_stretch(w, e->thread, child->stretch, event);
}

static void begin_tx(struct witnesses *w, struct witness_thread *t, uint64_t tx, uint64_t event)
{
	t->tx = tx;
	t->tx_epoch = t->epoch;
	t->newest = WITNESS_NONE;
	move_to_front(w, t, event);
}

/* The thread is in no block from now on: in its region, or in nothing. */
static void leave_block(struct witness_thread *t)
{
	if (!t->region)
		t->tx = 0;
	t->unit = t->tx;
	t->tx_id = t->region_tx_id;
	t->about = t->region_about;
}

static void take_block(struct witnesses *w, const struct event *e, uint64_t event)
{
	struct witness_thread *t = &w->thread[e->thread];

	if (e->outer == OUTER_END) {
		leave_block(t);
		return;
	}
	if (t->region)
		t->region_tx_id = t->tx_id;
	t->tx_id = NO_TX;
	t->about = (struct witness_tx){event, event_label(e), e->place, false};
	t->unit = ++w->last_tx;
	if (!t->region)
		begin_tx(w, t, t->unit, event);
}

/* The thread has left its region, and is in another or in none. */
static void change_region(struct witnesses *w, struct witness_thread *t, const struct region *r,
			  uint64_t event)
{
	t->region = r->id;
	t->region_tx_id = NO_TX;
	t->region_about = (struct witness_tx){0};
	if (r->id) {
		t->region_about = (struct witness_tx){r->begin, r->label, r->place, r->is_round};
		begin_tx(w, t, ++w->last_tx, event);
	} else {
		t->tx = 0;
	}
	leave_block(t);
}

uint32_t witness_new_entry(struct witnesses *w, struct witness_entry entry)
{
	entry.first_witness = WITNESS_NONE;
	MEM_GROW0(w->entry, w->entry_cap, w->nentries + 1);
	MEM_GROW0(w->now, w->now_cap, w->nentries + 1);
	w->entry[w->nentries] = entry;
	return (uint32_t)w->nentries++;
}

static uint32_t new_entry(struct witnesses *w, struct witness_thread *t, const struct event *e)
{
	uint32_t id = witness_new_entry(w, (struct witness_entry){
						   .var = e->operand,
						   .thread = e->thread,
						   .next_of_var = w->var[e->operand],
					   });

	w->var[e->operand] = id;
	if (e->operand < WITNESS_DIRECT) {
		MEM_GROW0(t->entry, t->entry_cap, e->operand + 1);
		t->entry[e->operand] = id + 1;
	} else {
		map_set(&t->entries, e->operand, id);
	}
	return id;
}

static inline uint32_t find_entry(const struct witness_thread *t, uint32_t var)
{
	if (var < WITNESS_DIRECT)
		return var < t->entry_cap ? t->entry[var] - 1 : MAP_NONE;
	return map_get(&t->entries, var);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	return map_mix(h ^ x) + 0x9e3779b97f4a7c15ull;
}

static bool same_variant(const struct witness *a, const struct witness *b)
{
	return a->place1 == b->place1 && a->place2 == b->place2 && a->epoch == b->epoch &&
	       a->op1 == b->op1 && a->op2 == b->op2;
}

static bool same_key(const struct witness *a, const struct witness *b)
{
	return a->entry == b->entry && a->state == b->state && a->kind == b->kind;
}

/* Returns a hash of all that distinguishes a witness. */
static inline uint64_t hash_of(const struct witness *x)
{
	uint64_t h = (uint64_t)x->entry << 32 | x->state;

	h = h * 0x9e3779b97f4a7c15ull ^ ((uint64_t)x->place1 << 32 | x->place2);
	h = h * 0xc2b2ae3d27d4eb4full ^
	    ((uint64_t)x->epoch << 24 | (uint32_t)x->op1 << 16 | (uint32_t)x->op2 << 8 | x->kind);
	return map_mix(h) | 1; /* 0 means none */
}

/* Returns a hash of what variants have in common, for any variable. */
static inline uint64_t like_key(const struct witnesses *w, const struct witness *x)
{
	uint64_t h = (uint64_t)x->place1 << 32 | x->place2;

	return h * 0x9e3779b97f4a7c15ull ^ ((uint64_t)w->state[x->state].hist << 24 |
					    (uint32_t)(x->op1 << 16 | x->op2 << 8 | x->kind));
}

/* Are there WITNESS_LIKE witnesses like it already? */
static inline bool is_common(struct witnesses *w, const struct witness *x)
{
	uint64_t key = like_key(w, x);
	uint64_t *known = &w->common[(key * 0x9e3779b97f4a7c15ull >> 32) % WITNESS_COMMON];

	if (*known == key)
		return true;
	if (map_get(&w->like, key) != WITNESS_LIKE)
		return false;
	*known = key;
	return true;
}

/* Is a witness kept for its state, and is there no room for variants? */
static inline bool is_full(struct witnesses *w, const struct witness *x)
{
	const struct witness_now *now = &w->now[x->entry];

	return now->has[x->kind] & w->state[x->state].bit &&
	       (now->variants[x->kind] == WITNESS_VARIANTS || is_common(w, x));
}

/* Returns the index of the transaction or region that the witness is in. */
static uint32_t tx_of(struct witnesses *w, struct witness_thread *t, const struct witness *x)
{
	bool across = x->flags & WITNESS_IN_REGION && t->unit != t->tx;
	uint32_t *id = across ? &t->region_tx_id : &t->tx_id;

	/* An access outside blocks that does not need its region is a transaction by itself. */
	if (t->region && t->unit == t->tx && !(x->flags & WITNESS_IN_REGION))
		id = &w->alone;
	if (id == &w->alone || *id == NO_TX) {
		MEM_GROW(w->tx, w->tx_cap, w->ntx + 1);
		w->tx[w->ntx] = id == &w->alone ? (struct witness_tx){0}
				: across        ? t->region_about
						: t->about;
		*id = (uint32_t)w->ntx++;
	}
	return *id;
}

/* Keep a witness, if there is no equal one and there is room for it. */
static void keep_witness(struct witnesses *w, struct witness_thread *t, struct witness *x)
{
	struct witness_entry *entry = &w->entry[x->entry];
	struct witness_now *now = &w->now[x->entry];
	uint64_t first_key = mix((uint64_t)x->entry << 8 | x->kind, x->state), key = hash_of(x);
	uint32_t first, id, like;

	if (is_full(w, x))
		return;
	while ((first = map_get(&w->by_key, first_key)) != MAP_NONE && !same_key(&w->v[first], x))
		first_key++;
	if (first == MAP_NONE) {
		key = first_key;
		now->has[x->kind] |= w->state[x->state].bit;
	} else {
		if (now->variants[x->kind] == WITNESS_VARIANTS || same_variant(&w->v[first], x))
			return;
		for (;; key++) {
			id = map_get(&w->by_key, key);
			if (id == MAP_NONE)
				break;
			if (same_key(&w->v[id], x) && same_variant(&w->v[id], x))
				return;
		}
		now->variants[x->kind]++;
	}
	like = map_get(&w->like, like_key(w, x)) + 1; /* MAP_NONE + 1 is 0 */
	if (like <= WITNESS_LIKE)
		map_set(&w->like, like_key(w, x), like);
	x->tx = tx_of(w, t, x);
	x->next = entry->first_witness;
	MEM_GROW(w->v, w->cap, w->n + 1);
	w->v[w->n] = *x;
	entry->first_witness = (uint32_t)w->n;
	map_set(&w->by_key, key, (uint32_t)w->n++);
}

/* Was this hash met recently? Remembers it. */
static inline bool was_met(struct witnesses *w, uint64_t hash)
{
	uint64_t *slot = &w->met[hash & (WITNESS_MET - 1)];
	bool yes = *slot == hash;

	*slot = hash;
	return yes;
}

/*
 * Set `cut` and the state: the thread was in that state after e1. The earlier the
 * better: what comes after `cut` then needs no lock that a thread may have kept from
 * before it forked this one. Only the first and the last time are known.
 */
static inline void set_state(struct witness *x, const struct witness_state *s, uint32_t id,
			     const struct witness_access *e1)
{
	x->state = id;
	x->cut = s->enter > e1->event ? s->enter : e1->event;
	if (e1->state == id)
		x->cut = e1->event;
	else if (s->first > e1->event)
		x->cut = s->first;
}

/*
 * Has the thread held no lock at some moment since e1? If it has forked, joined or
 * waited since then, it matters when.
 */
static inline bool was_free_between(const struct witnesses *w, const struct witness_thread *t,
				    const struct witness_access *e1)
{
	const struct witness_state *s = &w->state[t->empty];

	return t->empty != WITNESS_NONE && s->tx == t->tx && (!s->leave || s->leave > e1->event) &&
	       w->state[e1->state].stretch == t->stretch && t->tx_epoch == t->epoch;
}

/* Take e2 after this e1: the thread was in each of the states that it left after `since`. */
static inline void take_pair(struct witnesses *w, struct witness_thread *t, struct witness *x,
			     const struct witness_access *e1, uint64_t since)
{
	uint64_t hash = 0;
	uint32_t id, end;

	x->e1 = e1->event;
	x->place1 = e1->place;
	x->op1 = e1->op;
	if (since < e1->event)
		since = e1->event;
	if (was_free_between(w, t, e1)) {
		x->state = t->empty;
		if (!is_full(w, x) && !was_met(w, hash_of(x))) {
			set_state(x, &w->state[t->empty], t->empty, e1);
			keep_witness(w, t, x);
		}
		return;
	}
	for (id = t->newest; id != WITNESS_NONE; id = w->state[id].older) {
		if (w->state[id].leave && w->state[id].leave <= since)
			break;
		x->state = id;
		if (!is_full(w, x))
			hash += hash_of(x);
	}
	end = id;
	if (!hash || was_met(w, hash))
		return;
	for (id = t->newest; id != end; id = w->state[id].older) {
		set_state(x, &w->state[id], id, e1);
		keep_witness(w, t, x);
	}
}

void witness_take_pair(struct witnesses *w, struct witness_thread *t, struct witness *x,
		       const struct witness_access *e1, uint64_t since)
{
	take_pair(w, t, x, e1, since);
}

void witness_take_at(struct witnesses *w, struct witness_thread *t, struct witness *x)
{
	if (!is_full(w, x) && !was_met(w, hash_of(x)))
		keep_witness(w, t, x);
}

/*
 * Take access e2, which does `second` (0 read, 1 write), after an access of this
 * transaction that does `first`. States before the last access that also did `second`
 * were recorded with that. The first such e1 allows the most interleavings; the last one
 * reads best in a report, and is taken too if it looks different.
 */
static inline void take_second(struct witnesses *w, struct witness_thread *t, struct witness *x,
			       int first, int second)
{
	const struct witness_now *now = &w->now[x->entry];
	const struct witness_access *far = &now->first[first], *near = &now->last[first];

	if (!far->event)
		return;
	x->kind = (uint8_t)(WITNESS_RR + 2 * first + second);
	take_pair(w, t, x, far, now->last[second].event);
	if (near->place != far->place || near->op != far->op)
		take_pair(w, t, x, near, now->last[second].event);
}

/*
 * Take an access in a region, after accesses of the same variable in other blocks of the region:
 * witness_across says which pairs count.
 */
static void take_across(struct witnesses *w, struct witness_thread *t, struct witness x,
			const struct witness_access *this)
{
	struct witness_across *a;
	bool reads = this->op == OP_READ || this->op == OP_UPDATE, writes = this->op != OP_READ;

	MEM_GROW0(w->across, w->across_cap, w->nentries);
	a = &w->across[x.entry];
	x.flags = WITNESS_IN_REGION;
	if (a->region != t->tx)
		*a = (struct witness_across){.region = t->tx, .unit = t->unit};
	if (a->unit != t->unit) {
		a->unit = t->unit;
		a->check = a->read;
		if (a->has_written)
			a->check.event = 0;
		a->has_read = a->has_written = a->is_check_due = false;
	}
	if (reads && !a->has_read && !writes && a->check.event &&
	    was_free_between(w, t, &a->check)) {
		x.kind = WITNESS_RR;
		x.e1 = a->check.event;
		x.place1 = a->check.place;
		x.op1 = a->check.op;
		set_state(&x, &w->state[t->empty], t->empty, &a->check);
		a->due = x;
		a->is_check_due = true;
	}
	if (writes && !reads && !a->has_read && a->read.event && t->unit != t->tx) {
		x.kind = WITNESS_RW;
		take_pair(w, t, &x, &a->read, 0);
	} else if (writes && a->is_check_due) {
		a->due.flags |= WITNESS_ACTS;
		keep_witness(w, t, &a->due);
		a->is_check_due = false;
	}
	a->has_read |= reads;
	a->has_written |= writes;
	/* An update is no check: it may be how a lock is made by hand. */
	if (this->op == OP_READ)
		a->read = *this;
}

static inline void take_access(struct witnesses *w, const struct event *e, uint64_t event)
{
	struct witness_thread *t = &w->thread[e->thread];
	uint32_t id = find_entry(t, e->operand);
	struct witness_access this = {event, e->op, e->place, t->state};
	struct witness x = {.e2 = event, .place2 = e->place, .op2 = e->op, .epoch = t->epoch};
	bool does[2] = {e->op == OP_READ || e->op == OP_UPDATE, e->op != OP_READ};
	struct witness_now *now;

	if (w->shared && e->operand < w->nshared && !w->shared[e->operand])
		return;
	if (id == MAP_NONE)
		id = new_entry(w, t, e);
	now = &w->now[id];
	x.entry = id;
	if (!t->tx) /* an operation outside blocks is a transaction by itself */
		t->tx_id = NO_TX;
	w->alone = NO_TX;
	for (int k = 0; k < 2; k++) {
		x.kind = (uint8_t)(WITNESS_R + k);
		x.state = t->state;
		if (does[k])
			witness_take_at(w, t, &x);
	}
	if (!t->tx)
		return;
	if (t->region && t->unit == t->tx)
		x.flags = WITNESS_IN_REGION;
	if (now->tx != t->unit) {
		now->tx = t->unit;
		now->first[0].event = now->first[1].event = 0;
		now->last[0].event = now->last[1].event = 0;
	} else {
		for (int k = 0; k < 4; k++)
			if (does[k & 1])
				take_second(w, t, &x, k >> 1, k & 1);
	}
	if (t->region)
		take_across(w, t, x, &this);
	if (w->two) {
		two_take_access(w, e, event, now);
		now = &w->now[id];
	}
	for (int k = 0; k < 2; k++) {
		if (!does[k])
			continue;
		now->last[k] = this;
		if (!now->first[k].event)
			now->first[k] = this;
	}
}

static void take_other(struct witnesses *w, const struct event *e, uint64_t event)
{
	switch (e->op) {
	case OP_BEGIN:
	case OP_END:
		if (e->outer)
			take_block(w, e, event);
		break;
	case OP_FORK:
		take_fork(w, e, event);
		break;
	case OP_JOIN:
		take_join(w, e, event);
		break;
	case OP_BARRIER:
		w->barriers = true;
		w->thread[e->thread].epoch++;
		break;
	case OP_WAIT:
	case OP_NOTIFY:
		w->thread[e->thread].epoch++;
		break;
	default:
		break;
	}
}

static inline void prefetch_entry(const struct witnesses *w, const struct event *e)
{
	const struct witness_thread *t = &w->thread[e->thread];

	if (op_is_access(e->op) && e->operand < t->entry_cap)
		__builtin_prefetch(&t->entry[e->operand]);
}

static inline void prefetch_now(const struct witnesses *w, const struct event *e)
{
	uint32_t id =
		op_is_access(e->op) ? find_entry(&w->thread[e->thread], e->operand) : MAP_NONE;
	const char *now;

	if (id == MAP_NONE)
		return;
	now = (const char *)&w->now[id];
	__builtin_prefetch(now, 1);
	__builtin_prefetch(now + 64, 1);
	__builtin_prefetch(now + sizeof *w->now - 1, 1);
}

void witnesses_take(struct witnesses *w, const struct batch *b)
{
	const struct table *names = b->names->table;
	uint64_t event = b->first;
	struct witness_thread *t;

	regions_prepare(&w->regions, b);
	MEM_GROW0(w->thread, w->thread_cap, names[NAMES_THREAD].n);
	for (; w->nthreads < names[NAMES_THREAD].n; w->nthreads++)
		w->thread[w->nthreads] = (struct witness_thread){.state = WITNESS_NONE,
								 .stretch = WITNESS_NONE,
								 .empty = WITNESS_NONE,
								 .tx_id = NO_TX,
								 .region_tx_id = NO_TX};
	MEM_GROW(w->var, w->var_cap, names[NAMES_VAR].n);
	while (w->nvars < names[NAMES_VAR].n)
		w->var[w->nvars++] = WITNESS_NONE;

	for (const struct event *e = b->ev; e < b->ev + b->n; e++, event++) {
		if (e + 2 * PREFETCH < b->ev + b->n) {
			prefetch_entry(w, e + 2 * PREFETCH);
			prefetch_now(w, e + PREFETCH);
		}
		t = &w->thread[e->thread];
		region_take(&w->regions, b, e, event, t->unit != (t->region ? t->tx : 0));
		if (e->op == OP_NONE)
			continue;
		if (t->stretch == WITNESS_NONE)
			begin_thread(w, e->thread, WITNESS_NONE);
		if (w->regions.recorded && w->regions.thread[e->thread].id != t->region)
			change_region(w, t, &w->regions.thread[e->thread], event);
		if (op_is_access(e->op) || e->op == OP_FREE)
			take_access(w, e, event);
		else if (op_is_lock(e->op))
			take_lock(w, e, event);
		else
			take_other(w, e, event);
	}
}
