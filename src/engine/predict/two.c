#include "engine/predict/two.h"

#include <string.h>

#include "base/map.h"

#include "base/banned.h"

/* The thread begins or ends its outermost block, or acquires or releases a lock. */
static void note_surroundings(struct two_sharing *s, const struct event *e)
{
	uint64_t *now = &s->now[e->thread];
	uint64_t lock = map_mix((uint64_t)e->operand << 1 |
				(e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED));

	/* The upper half is about the block, the lower half about the locks. */
	if (e->outer)
		*now = (uint32_t)*now |
		       (e->outer == OUTER_BEGIN ? map_mix(event_label(e) + 1ull) << 32 : 0);
	else if (op_is_lock((enum op)e->op))
		*now ^= (uint32_t)lock;
}

static uint64_t way_bit(const struct two_sharing *s, const struct event *e)
{
	uint64_t place = (uint64_t)e->place << 32 | e->thread << 8 | e->op;

	return 1ull << (map_mix(map_mix(place) ^ s->now[e->thread]) & 63);
}

void two_sharing_take(struct two_sharing *s, const struct batch *b)
{
	s->n = b->names->table[NAMES_VAR].n;
	MEM_GROW0(s->thread, s->thread_cap, s->n);
	MEM_GROW0(s->many, s->many_cap, s->n);
	MEM_GROW0(s->written, s->written_cap, s->n);
	MEM_GROW0(s->ways, s->ways_cap, s->n);
	MEM_GROW0(s->now, s->now_cap, b->names->table[NAMES_THREAD].n);
	for (const struct event *e = b->ev; e < b->ev + b->n; e++) {
		if (!op_is_access(e->op) && e->op != OP_FREE) {
			note_surroundings(s, e);
			continue;
		}
		s->ways[e->operand] |= way_bit(s, e);
		if (!s->thread[e->operand])
			s->thread[e->operand] = e->thread + 1;
		s->many[e->operand] |= s->thread[e->operand] != e->thread + 1;
		s->written[e->operand] |= e->op != OP_READ;
	}
}

/* Leave out variables that are similar to enough others. */
static void choose_searched(struct two_sharing *s)
{
	struct map count = {0}, seen = {0};

	for (size_t i = 0; i < s->n; i++) {
		uint32_t n = s->many[i] ? map_get(&count, s->ways[i]) : 0;

		if (s->many[i])
			map_set(&count, s->ways[i], n == MAP_NONE ? 1 : n + 1);
	}
	for (size_t i = 0; i < s->n; i++) {
		uint32_t all, nth;

		if (!s->many[i])
			continue;
		all = map_get(&count, s->ways[i]);
		nth = map_get(&seen, s->ways[i]);
		nth = nth == MAP_NONE ? 0 : nth;
		map_set(&seen, s->ways[i], nth + 1);
		s->searched[i] = nth < TWO_SIMILAR_FIRST ||
				 nth % (all / (TWO_SIMILAR - TWO_SIMILAR_FIRST) + 1) == 0;
		s->left_out += !s->searched[i];
	}
	map_free(&count);
	map_free(&seen);
}

void two_sharing_end(struct two_sharing *s, bool all)
{
	size_t shared = 0;

	for (size_t i = 0; i < s->n; i++) {
		s->many[i] &= s->written[i];
		shared += s->many[i];
	}
	s->searched = mem_alloc((s->n + 1) * sizeof *s->searched);
	if (s->n)
		memcpy(s->searched, s->many, s->n * sizeof *s->searched);
	if (!all && shared > TWO_SIMILAR_FROM)
		choose_searched(s);
	mem_free(s->ways);
	s->ways = NULL;
	s->ways_cap = 0;
}

void two_sharing_free(struct two_sharing *s)
{
	mem_free(s->thread);
	mem_free(s->many);
	mem_free(s->written);
	mem_free(s->searched);
	mem_free(s->ways);
	mem_free(s->now);
	*s = (struct two_sharing){0};
}

void witnesses_want_two(struct witnesses *w, const bool *shared, size_t n)
{
	w->two = mem_zalloc(sizeof *w->two);
	w->two->shared = mem_alloc((n + 1) * sizeof *shared);
	w->two->nshared = n;
	if (n)
		memcpy(w->two->shared, shared, n * sizeof *shared);
}

void two_free(struct two *two)
{
	if (!two)
		return;
	mem_free(two->shared);
	mem_free(two->thread);
	mem_free(two->first);
	map_free(&two->pairs);
	map_free(&two->entries);
	map_free(&two->states);
	mem_free(two);
}

/* Returns the thread's recent accesses in its open transaction. */
static struct two_thread *recent_of(struct witnesses *w, uint32_t thread)
{
	struct two_thread *t;

	MEM_GROW0(w->two->thread, w->two->thread_cap, w->nthreads);
	t = &w->two->thread[thread];
	if (t->tx != w->thread[thread].tx) {
		t->tx = w->thread[thread].tx;
		t->n = 0;
	}
	return t;
}

static uint32_t new_entry(struct witnesses *w, uint32_t thread, uint32_t x, uint32_t y,
			  uint32_t pair, enum witness_role role)
{
	return w->two->first[pair] =
		       witness_new_entry(w, (struct witness_entry){
						    .var = x,
						    .var2 = y,
						    .thread = thread,
						    .next_of_var = w->two->first[pair],
						    .role = (uint8_t)role,
					    });
}

/* Returns the outer entry, which the inner one follows; WITNESS_NONE if there is no room. */
static uint32_t entry_of(struct witnesses *w, uint32_t thread, uint32_t x, uint32_t y)
{
	struct two *two = w->two;
	uint64_t key = (uint64_t)x << 32 | y;
	uint32_t pair = map_get(&two->pairs, key), id = MAP_NONE;

	if (pair != MAP_NONE)
		id = map_get(&two->entries, (uint64_t)pair << 32 | thread);
	if (id != MAP_NONE)
		return id;
	if (two->entries.n == TWO_ENTRIES) {
		two->left_out++;
		return WITNESS_NONE;
	}
	if (pair == MAP_NONE) {
		pair = (uint32_t)two->nfirst++;
		map_set(&two->pairs, key, pair);
		MEM_GROW(two->first, two->first_cap, two->nfirst);
		two->first[pair] = WITNESS_NONE;
	}
	id = new_entry(w, thread, x, y, pair, WITNESS_OUTER);
	new_entry(w, thread, x, y, pair, WITNESS_INNER);
	map_set(&two->entries, (uint64_t)pair << 32 | thread, id);
	return id;
}

/* Returns a state with the locks acquired since. It has no bit: few are used again. */
static uint32_t state_with(struct witnesses *w, uint32_t state, uint32_t took)
{
	uint64_t key = (uint64_t)state << 32 | took;
	uint32_t id = map_get(&w->two->states, key);

	if (id != MAP_NONE)
		return id;
	MEM_GROW0(w->state, w->state_cap, w->nstates + 1);
	w->state[w->nstates] = (struct witness_state){
		.hist = w->state[state].hist, .stretch = w->state[state].stretch, .took = took};
	map_set(&w->two->states, key, (uint32_t)w->nstates);
	return (uint32_t)w->nstates++;
}

/* Does an access of that operation read (0), or write (1)? */
static bool op_does(uint32_t op, int what)
{
	return what ? op != OP_READ : op == OP_READ || op == OP_UPDATE;
}

/* Returns the kind of a pair of accesses that do this (0 read, 1 write). */
static uint8_t kind_of(int first, int second)
{
	return (uint8_t)(WITNESS_RR + 2 * first + second);
}

/*
 * Take `e` as f2 after `a` as f1. `entry` is the inner one of a's variable and e's; `reversed` the
 * one of the same variables in the other order, or WITNESS_NONE.
 */
static void take_inner(struct witnesses *w, const struct event *e, struct witness x, uint32_t entry,
		       uint32_t reversed, const struct two_access *a)
{
	struct witness_thread *t = &w->thread[e->thread];

	x.e1 = x.cut = a->last.event;
	x.place1 = a->last.place;
	x.op1 = a->last.op;
	x.state = state_with(w, a->last.state, a->took);
	for (int k = 0; k < 4; k++) {
		if (!op_does(a->last.op, k >> 1) || !op_does(e->op, k & 1))
			continue;
		x.flags &= (uint8_t)~WITNESS_REVERSED;
		x.entry = entry;
		x.kind = kind_of(k >> 1, k & 1);
		witness_take_at(w, t, &x);
		if (reversed == WITNESS_NONE)
			continue;
		x.flags |= WITNESS_REVERSED;
		x.entry = reversed;
		x.kind = kind_of(k & 1, k >> 1);
		witness_take_at(w, t, &x);
	}
}

/* Take `e` as e2, or f2, after an access of another variable. */
static void take_second(struct witnesses *w, const struct event *e, uint64_t event,
			const struct two_access *a, const uint64_t last[2])
{
	struct witness_thread *t = &w->thread[e->thread];
	uint32_t entry = entry_of(w, e->thread, a->var, e->operand), reversed;
	struct witness x = {
		.e2 = event,
		.place2 = e->place,
		.op2 = e->op,
		.epoch = t->epoch,
		.entry = entry,
		.flags = t->region && (t->unit == t->tx || t->unit != a->unit) ? WITNESS_IN_REGION
									       : 0,
	};

	if (entry == WITNESS_NONE)
		return;
	reversed = entry_of(w, e->thread, e->operand, a->var);
	take_inner(w, e, x, entry + 1, reversed == WITNESS_NONE ? WITNESS_NONE : reversed + 1, a);
	for (int k = 0; k < 4; k++) {
		x.kind = kind_of(k >> 1, k & 1);
		if (op_does(a->first.op, k >> 1) && op_does(e->op, k & 1))
			witness_take_pair(w, t, &x, &a->first, last[k & 1]);
	}
}

/* Returns where to keep an access: with equal ones, in a free place, or in place of the oldest. */
static struct two_access *place_for(struct two_thread *r, uint32_t var, uint64_t unit,
				    const struct witness_access *a)
{
	struct two_access *oldest = r->v;

	for (struct two_access *x = r->v; x < r->v + r->n; x++) {
		if (x->var == var && x->unit == unit && x->last.op == a->op &&
		    x->last.state == a->state && x->last.place == a->place)
			return x;
		if (x->last.event < oldest->last.event)
			oldest = x;
	}
	if (r->n < TWO_RECENT)
		oldest = &r->v[r->n++];
	*oldest = (struct two_access){.var = var, .unit = unit, .first = *a};
	return oldest;
}

/* Is an access looked at as e2 or f2? After the first TWO_LOOKS at a place, only a few are. */
static bool is_looked_at(struct two *two, const struct event *e)
{
	uint32_t *looks = &two->looks[map_mix((uint64_t)e->place << 8 | e->op) % TWO_PLACES];

	return ++*looks <= TWO_LOOKS || *looks % TWO_LOOKS == 0;
}

void two_take_access(struct witnesses *w, const struct event *e, uint64_t event,
		     const struct witness_now *now)
{
	struct witness_access this = {event, e->op, e->place, w->thread[e->thread].state};
	uint64_t last[2] = {now->last[0].event, now->last[1].event};
	struct two_thread *r;
	struct two_access *a;

	if (e->operand >= w->two->nshared || !w->two->shared[e->operand])
		return;
	r = recent_of(w, e->thread);
	if (is_looked_at(w->two, e))
		for (uint32_t i = 0; i < r->n; i++)
			if (r->v[i].var != e->operand)
				take_second(w, e, event, &r->v[i], last);
	a = place_for(r, e->operand, w->thread[e->thread].unit, &this);
	a->last = this;
	a->took = LOCKHIST_EMPTY;
}

void two_take_lock(struct witnesses *w, const struct event *e)
{
	struct two_thread *r = recent_of(w, e->thread);

	if (e->op != OP_ACQUIRE && e->op != OP_ACQUIRE_SHARED)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		r->v[i].took = lockhist_add(&w->hist, r->v[i].took, (enum op)e->op, e->operand);
}
