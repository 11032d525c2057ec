/*
 * For each closing event: find the cycle, what it rests on, and which block is to blame.
 *
 * Everything is done twice, in two views of the trace: one with all conflicts, one
 * without those between lock operations. A view has an order of transactions that
 * keeps its edges (order.h, `why`), and vector clocks of operations (vclock.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/precise/cycle.h"
#include "engine/precise/order.h"
#include "engine/precise/vclock.h"

#include "base/banned.h"

enum { ALL, DATA, VIEWS };

/* An operation that later ones may conflict with. */
struct access {
	uint64_t event; /* 0: there is none */
	uint32_t thread;
	step at[VIEWS];
	struct vclock clock[VIEWS];
};

/* A variable or a lock, as in precise.h, but with the last read of each thread. */
struct var {
	struct access w;
	struct access *r;
	uint32_t nr, cap;
};

struct thread {
	uint64_t last;  /* its last event; 0: none yet */
	uint64_t *open; /* begins of its open blocks */
	size_t depth, cap;
	struct vclock clock[VIEWS];
	struct target *own[VIEWS]; /* the watched transaction that it is in, or NULL */
	struct access birth;
};

/* All closing events of one transaction. */
struct watch {
	uint64_t begin, last;
	struct target target[VIEWS];
};

struct cycle_find {
	const struct closings *closings;
	const struct frontier_given *given; /* or NULL */
	size_t next;                        /* closing event */
	struct watch *watch;
	size_t nwatch, next_watch;
	struct cycle *cycles;
	struct order order[VIEWS];
	struct var **var, **lock;
	size_t var_cap, lock_cap;
	struct thread *thread;
	size_t thread_cap;
	/* The current event: */
	uint64_t event;
	const struct event *e;
	struct {
		uint64_t src; /* 0: it closes no cycle in this view */
		uint32_t from;
	} closed[VIEWS];
	uint64_t *path; /* scratch */
	size_t path_cap;
	uint32_t *last_hop; /* scratch: by thread */
	size_t last_hop_cap;
};

static int by_begin(const void *a, const void *b)
{
	const struct watch *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

struct cycle_find *cycle_find_new(const struct closings *closings,
				  const struct frontier_given *given)
{
	struct cycle_find *f = mem_zalloc(sizeof *f);
	size_t n = 0;

	f->closings = closings;
	f->given = given;
	f->cycles = mem_zalloc(closings->n * sizeof *f->cycles);
	f->watch = mem_zalloc(closings->n * sizeof *f->watch);
	for (size_t i = 0; i < closings->n; i++) {
		f->watch[i].begin = closings->v[i].begin;
		f->watch[i].last = closings->v[i].event;
	}
	qsort(f->watch, closings->n, sizeof *f->watch, by_begin);
	for (size_t i = 0; i < closings->n; i++) {
		if (n && f->watch[n - 1].begin == f->watch[i].begin) {
			if (f->watch[n - 1].last < f->watch[i].last)
				f->watch[n - 1].last = f->watch[i].last;
		} else {
			f->watch[n++] = f->watch[i];
		}
	}
	f->nwatch = n;
	for (int v = 0; v < VIEWS; v++)
		order_init(&f->order[v], true);
	return f;
}

static void access_free(struct access *a)
{
	for (int v = 0; v < VIEWS; v++)
		vclock_free(&a->clock[v]);
}

static void vars_free(struct var **vars, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!vars[i])
			continue;
		access_free(&vars[i]->w);
		for (uint32_t k = 0; k < vars[i]->cap; k++)
			access_free(&vars[i]->r[k]);
		mem_free(vars[i]->r);
		mem_free(vars[i]);
	}
	mem_free(vars);
}

/* Drop the cycles that rest on given steps if there is a cycle that does not. */
static void drop_given(struct cycle_find *f)
{
	size_t found = 0, given = 0;

	for (size_t i = 0; i < f->next; i++) {
		given += f->cycles[i].nsteps && f->cycles[i].as_given;
		found += f->cycles[i].nsteps && !f->cycles[i].as_given;
	}
	for (size_t i = 0; i < f->next && found; i++)
		if (f->cycles[i].as_given)
			f->cycles[i].nsteps = 0;
	if (f->given && f->given->believed)
		*f->given->believed = given && !found;
}

struct cycle *cycle_find_done(struct cycle_find *f)
{
	struct cycle *cycles = f->cycles;

	drop_given(f);
	vars_free(f->var, f->var_cap);
	vars_free(f->lock, f->lock_cap);
	for (size_t i = 0; i < f->thread_cap; i++) {
		access_free(&f->thread[i].birth);
		for (int v = 0; v < VIEWS; v++)
			vclock_free(&f->thread[i].clock[v]);
		mem_free(f->thread[i].open);
	}
	for (size_t i = 0; i < f->nwatch; i++)
		for (int v = 0; v < VIEWS; v++)
			mark_drop(f->watch[i].target[v].now);
	for (int v = 0; v < VIEWS; v++)
		order_free(&f->order[v]);
	mem_free(f->thread);
	mem_free(f->watch);
	mem_free(f->path);
	mem_free(f->last_hop);
	mem_free(f);
	return cycles;
}

void cycles_free(struct cycle *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++) {
		mem_free(v[i].steps);
		mem_free(v[i].refuted);
	}
	mem_free(v);
}

static uint32_t find_own_slot(struct cycle_find *f, int view)
{
	return f->order[view].slot_of[f->e->thread];
}

/* Add an edge from `src` into the current event. Returns true if a view left it out. */
static bool add_edge(struct cycle_find *f, const struct access *src, bool is_lock)
{
	struct thread *t = &f->thread[f->e->thread];
	bool left_out = false;

	if (!src->event || src->thread == f->e->thread)
		return false;
	for (int v = 0; v < (is_lock ? DATA : VIEWS); v++) {
		struct order *o = &f->order[v];

		vclock_join(&t->clock[v], &src->clock[v], t->own[v], src->event, src->thread,
			    f->event);
		if (order_knows(o, find_own_slot(f, v), src->at[v]) ||
		    order_add(o, find_own_slot(f, v), src->at[v], src->event, f->event) ==
			    ORDER_ADDED)
			continue;
		left_out = true;
		if (!f->closed[v].src) {
			f->closed[v].src = src->event;
			f->closed[v].from = step_slot(src->at[v]);
		}
	}
	return left_out;
}

/* Store the current event, for the edges of later events. */
static void store_event(struct cycle_find *f, struct access *to)
{
	struct thread *t = &f->thread[f->e->thread];

	to->event = f->event;
	to->thread = f->e->thread;
	for (int v = 0; v < VIEWS; v++) {
		to->at[v] = f->order[v].slot[find_own_slot(f, v)].now;
		vclock_copy(&to->clock[v], &t->clock[v], t->own[v], f->event);
	}
}

static void edges_from_all(struct cycle_find *f, struct var *var, bool is_lock)
{
	uint32_t kept = 0;

	add_edge(f, &var->w, is_lock);
	for (uint32_t i = 0; i < var->nr; i++) {
		if (add_edge(f, &var->r[i], is_lock)) {
			struct access swap = var->r[kept];

			var->r[kept++] = var->r[i];
			var->r[i] = swap;
		}
	}
	var->nr = kept;
}

static void store_read(struct cycle_find *f, struct var *var)
{
	uint32_t i = 0;

	while (i < var->nr && var->r[i].thread != f->e->thread)
		i++;
	if (i == var->cap) {
		uint32_t cap = var->cap ? var->cap * 2 : 1;

		var->r = mem_resize(var->r, cap * sizeof *var->r);
		memset(var->r + var->cap, 0, (cap - var->cap) * sizeof *var->r);
		var->cap = cap;
	}
	if (i == var->nr)
		var->nr++;
	store_event(f, &var->r[i]);
}

static struct var *var_at(struct var **vars, uint32_t id)
{
	if (!vars[id])
		vars[id] = mem_zalloc(sizeof *vars[id]);
	return vars[id];
}

static void take_begin(struct cycle_find *f)
{
	struct thread *t = &f->thread[f->e->thread];

	MEM_GROW(t->open, t->cap, t->depth + 1);
	t->open[t->depth++] = f->event;
	if (t->depth > 1)
		return;
	for (int v = 0; v < VIEWS; v++)
		order_begin(&f->order[v], find_own_slot(f, v));
	if (f->next_watch < f->nwatch && f->watch[f->next_watch].begin == f->event) {
		for (int v = 0; v < VIEWS; v++) {
			t->own[v] = &f->watch[f->next_watch].target[v];
			t->own[v]->watched = true;
			t->own[v]->last = f->watch[f->next_watch].last;
		}
		f->next_watch++;
	}
}

static void take_end(struct cycle_find *f)
{
	struct thread *t = &f->thread[f->e->thread];

	if (--t->depth)
		return;
	for (int v = 0; v < VIEWS; v++)
		order_end(&f->order[v], find_own_slot(f, v));
}

static void take_join(struct cycle_find *f)
{
	struct thread *child = &f->thread[f->e->operand];
	struct access last = {.event = child->last, .thread = f->e->operand};

	if (!child->last)
		return;
	for (int v = 0; v < VIEWS; v++) {
		uint32_t s = f->order[v].slot_of[f->e->operand];

		last.at[v] = s == ORDER_NO_SLOT ? STEP_NONE : f->order[v].slot[s].now;
		vclock_copy(&last.clock[v], &child->clock[v], child->own[v], child->last);
	}
	add_edge(f, &last, false);
	access_free(&last);
	for (int v = 0; v < VIEWS; v++)
		order_leave(&f->order[v], f->e->operand);
}

static void take_op(struct cycle_find *f)
{
	const struct event *e = f->e;
	struct var *var;

	switch (e->op) {
	case OP_BEGIN:
		take_begin(f);
		break;
	case OP_END:
		take_end(f);
		break;
	case OP_READ:
		var = var_at(f->var, e->operand);
		add_edge(f, &var->w, false);
		store_read(f, var);
		break;
	case OP_WRITE:
	case OP_UPDATE:
		var = var_at(f->var, e->operand);
		edges_from_all(f, var, false);
		store_event(f, &var->w);
		break;
	case OP_ACQUIRE:
		edges_from_all(f, var_at(f->lock, e->operand), true);
		break;
	case OP_RELEASE:
		store_event(f, &var_at(f->lock, e->operand)->w);
		break;
	case OP_ACQUIRE_SHARED:
		add_edge(f, &var_at(f->lock, e->operand)->w, true);
		break;
	case OP_RELEASE_SHARED:
		store_read(f, var_at(f->lock, e->operand));
		break;
	case OP_FORK:
		store_event(f, &f->thread[e->operand].birth);
		break;
	case OP_JOIN:
		take_join(f);
		break;
	default:
		break;
	}
}

/* Append an event to the path, unless it is the last one already. */
static void path_add(struct cycle_find *f, size_t *n, uint64_t event)
{
	if (!event || (*n && f->path[*n - 1] == event))
		return;
	MEM_GROW(f->path, f->path_cap, *n + 1);
	f->path[(*n)++] = event;
}

/* Set the path along transactions, backwards: from the closing event to the transaction. */
static size_t path_by_order(struct cycle_find *f, int v)
{
	const struct order *o = &f->order[v];
	uint32_t home = find_own_slot(f, v);
	size_t n = 0;

	path_add(f, &n, f->event);
	path_add(f, &n, f->closed[v].src);
	for (uint32_t s = f->closed[v].from; s != home;) {
		const struct order_why *why = &o->why[(size_t)s * o->cap + home];

		path_add(f, &n, why->dst);
		path_add(f, &n, why->src);
		s = why->from;
	}
	return n;
}

/*
 * Set the path along operations, backwards. If it passes a thread twice, the detour is
 * removed: it goes from the last departure straight to the first arrival.
 */
static size_t path_by_clock(struct cycle_find *f, const struct target *own, uint32_t src_thread)
{
	const struct mark *m;
	size_t n = 0, hop = 0;
	uint32_t at;

	/* Find the first arrival in each thread, counted from the end. */
	for (m = own->now, at = src_thread; m->from; m = m->from, hop++) {
		f->last_hop[at] = (uint32_t)hop;
		at = m->src_thread;
	}
	path_add(f, &n, f->event);
	path_add(f, &n, own->now_src);
	hop = 0;
	at = src_thread;
	for (m = own->now; m->from; m = m->from, hop++) {
		while (hop < f->last_hop[at] && m->from->from) {
			m = m->from;
			hop++;
		}
		path_add(f, &n, m->dst);
		path_add(f, &n, m->src);
		at = m->src_thread;
	}
	return n;
}

/* Set the path as it was given, backwards. Returns 0 if a step is not in this trace. */
static size_t path_as_given(struct cycle_find *f)
{
	size_t n = 0;

	path_add(f, &n, f->event);
	/* The last given step is this event. */
	for (size_t i = f->given->nsteps ? f->given->nsteps - 1 : 0; i-- > 0;) {
		if (!f->given->steps[i].event)
			return 0;
		path_add(f, &n, f->given->steps[i].event);
	}
	return n > 1 ? n : 0;
}

static bool given_without_locks(const struct frontier_given *given)
{
	for (size_t i = 0; i < given->nsteps; i++)
		if (given->steps[i].on_lock)
			return false;
	return given->nsteps > 0;
}

static void close_cycle(struct cycle_find *f)
{
	struct thread *t = &f->thread[f->e->thread];
	struct cycle *c = &f->cycles[f->next];
	bool data = f->closed[DATA].src || t->own[DATA]->now;
	size_t n;

	if (!f->closed[ALL].src && !f->given) {
		fprintf(stderr,
			"atomsan: internal error: event %llu closes no cycle the second time\n",
			(unsigned long long)f->event);
		exit(2);
	}
	c->closing = f->closings->v[f->next++];
	c->rests_on = data ? RESTS_ON_DATA : RESTS_ON_LOCKS;
	c->blamed = t->own[ALL]->heard != 0;
	if (t->own[DATA]->now)
		n = path_by_clock(f, t->own[DATA], t->own[DATA]->now_thread);
	else if (t->own[ALL]->now)
		n = path_by_clock(f, t->own[ALL], t->own[ALL]->now_thread);
	else if (f->closed[ALL].src || f->closed[DATA].src)
		n = path_by_order(f, f->closed[DATA].src ? DATA : ALL);
	else {
		n = path_as_given(f);
		c->as_given = true;
		/* If its steps use locks, another cycle may do without. */
		c->rests_on = given_without_locks(f->given) ? RESTS_ON_DATA : RESTS_ON_NOTHING;
	}
	c->steps = mem_alloc(n * sizeof *c->steps);
	c->nsteps = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		c->steps[i] = f->path[n - 1 - i];

	while (c->nrefuted < t->depth && t->open[c->nrefuted] <= t->own[ALL]->heard)
		c->nrefuted++;
	c->refuted = mem_alloc(c->nrefuted * sizeof *c->refuted);
	memcpy(c->refuted, t->open, c->nrefuted * sizeof *c->refuted);
}

/* Enter a thread that has no slot in this view: it is new, or was idle for long. */
static void enter_thread(struct cycle_find *f, int v)
{
	struct access *birth = &f->thread[f->e->thread].birth;

	order_enter(&f->order[v], f->e->thread);
	if (birth->event && !order_knows(&f->order[v], find_own_slot(f, v), birth->at[v]))
		order_add(&f->order[v], find_own_slot(f, v), birth->at[v], birth->event, f->event);
}

static void take_one(struct cycle_find *f)
{
	struct thread *t = &f->thread[f->e->thread];

	memset(f->closed, 0, sizeof f->closed);
	for (int v = 0; v < VIEWS; v++)
		if (f->order[v].slot_of[f->e->thread] == ORDER_NO_SLOT)
			enter_thread(f, v);
	if (!t->last && t->birth.event) {
		for (int v = 0; v < VIEWS; v++)
			vclock_join(&t->clock[v], &t->birth.clock[v], NULL, t->birth.event,
				    t->birth.thread, f->event);
		access_free(&t->birth);
		t->birth.event = 0;
	}
	t->last = f->event;
	take_op(f);
	if (f->next < f->closings->n && f->closings->v[f->next].event == f->event)
		close_cycle(f);
	for (int v = 0; v < VIEWS; v++) {
		struct target *own = t->own[v];

		if (!own)
			continue;
		mark_drop(own->now);
		own->now = NULL;
		if (f->event >= own->last) {
			own->watched = false;
			t->own[v] = NULL;
		}
	}
}

void cycle_find_take(struct cycle_find *f, const struct batch *b)
{
	const struct table *names = b->names->table;

	MEM_GROW0(f->var, f->var_cap, names[NAMES_VAR].n);
	MEM_GROW0(f->lock, f->lock_cap, names[NAMES_LOCK].n);
	MEM_GROW0(f->thread, f->thread_cap, names[NAMES_THREAD].n);
	MEM_GROW0(f->last_hop, f->last_hop_cap, names[NAMES_THREAD].n);
	for (int v = 0; v < VIEWS; v++)
		order_threads(&f->order[v], names[NAMES_THREAD].n);
	for (uint32_t i = 0; i < b->n && f->next < f->closings->n; i++) {
		f->e = &b->ev[i];
		f->event = b->first + i;
		if (f->e->op != OP_NONE)
			take_one(f);
	}
}
