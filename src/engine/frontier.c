/*
 * frontier: the verdict of Velodrome, at the same event, in time linear in the
 * trace. order.h has the idea; this file keeps the last accesses of each
 * variable and lock, and tells which edges an event brings.
 *
 * What an event costs when its edges bring nothing: one load for the thread's
 * slot and its current step, the variable's 16 bytes, and one comparison in the
 * thread's row of `seen` for each last access by somebody else.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/effect.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "engine/order.h"

#include "base/banned.h"

/*
 * A variable, or a lock: an exclusive release is its write, a shared one its
 * read. `r` is the one read since the last write that still matters, or, with
 * READ_LIST set, where there are several.
 */
struct var {
	step w, r;
};
#define READ_LIST (1ull << 63)

struct reads {
	step *v;
	size_t cap;
	uint32_t n;
	uint32_t next_free; /* 1 + index */
};

struct thread {
	uint64_t begin; /* event of its last transaction's begin */
	step birth;     /* who forked it, until its first event */
};

struct frontier {
	struct order order;
	struct var *var, *lock;
	size_t var_cap, lock_cap;
	struct thread *thread;
	size_t thread_cap;
	struct reads *reads;
	size_t nreads, reads_cap;
	uint32_t free_reads;
	struct closings closings;
	const struct engine_options *options;
	uint64_t nclosings; /* how many there were, told or not */
	struct finding_sink *sink;
	struct explain *explain;
};

static void *frontier_create(const struct engine_options *options, struct finding_sink *sink)
{
	struct frontier *f = mem_zalloc(sizeof *f);

	order_init(&f->order, false);
	f->options = options;
	f->sink = sink;
	return f;
}

/* All of the first pass's state: a second pass has no use for it. */
static void drop_state(struct frontier *f)
{
	for (size_t i = 0; i < f->nreads; i++)
		mem_free(f->reads[i].v);
	mem_free(f->reads);
	mem_free(f->var);
	mem_free(f->lock);
	mem_free(f->thread);
	order_free(&f->order);
	f->reads = NULL;
	f->var = f->lock = NULL;
	f->thread = NULL;
	f->nreads = 0;
	f->order = (struct order){0};
}

/* The thread has no slot: it is new, or was idle for long. */
__attribute__((noinline)) static uint32_t arrive(struct frontier *f, uint32_t thread)
{
	step birth = f->thread[thread].birth;
	uint32_t t = order_enter(&f->order, thread);

	f->thread[thread].birth = STEP_NONE;
	if (!order_knows(&f->order, t, birth))
		order_add(&f->order, t, birth, 0, 0);
	return f->order.slot_of[thread];
}

/* An edge that may bring something; false where it closes a cycle. */
__attribute__((noinline)) static bool add_edge(struct frontier *f, const struct event *e,
					       uint32_t *t, step src, uint64_t event)
{
	if (order_add(&f->order, *t, src, 0, 0) == ORDER_CYCLE) {
		closings_add(&f->closings, event, f->thread[e->thread].begin, e->thread);
		return false;
	}
	*t = f->order.slot_of[e->thread];
	return true;
}

static struct reads *new_list(struct frontier *f, struct var *v)
{
	uint32_t at = f->free_reads;

	if (at) {
		f->free_reads = f->reads[at - 1].next_free;
	} else {
		MEM_GROW0(f->reads, f->reads_cap, f->nreads + 1);
		at = (uint32_t)++f->nreads;
	}
	v->r = READ_LIST | (at - 1);
	return &f->reads[at - 1];
}

static struct reads *list_of(struct frontier *f, const struct var *v)
{
	return &f->reads[v->r & ~READ_LIST];
}

/* Go back to at most one read. */
static void drop_list(struct frontier *f, struct var *v)
{
	struct reads *list = list_of(f, v);
	uint32_t at = (uint32_t)(v->r & ~READ_LIST);

	v->r = list->n ? list->v[0] : STEP_NONE;
	list->n = 0;
	list->next_free = f->free_reads;
	f->free_reads = at + 1;
}

/*
 * A read by slot t joins others. Those that no open transaction reaches will
 * never matter. Those that t knows lie before it, but it does not stand for
 * them: its edge to a later write may close a cycle and be left out, theirs not.
 */
__attribute__((noinline)) static void add_read(struct frontier *f, struct var *v, uint32_t t)
{
	const struct order *o = &f->order;
	step now = o->slot[t].now;
	struct reads *list;

	if (!(v->r & READ_LIST)) {
		step old = v->r;

		if (!order_alive(o, old)) {
			v->r = now;
			return;
		}
		list = new_list(f, v);
		MEM_GROW(list->v, list->cap, 4);
		list->v[0] = old;
		list->n = 1;
	} else {
		list = list_of(f, v);
		/* The usual case, many readers again and again: it has an entry. */
		for (uint32_t i = 0; i < list->n; i++) {
			if (step_slot(list->v[i]) == t) {
				list->v[i] = now;
				return;
			}
		}
	}
	if (list->n == list->cap) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < list->n; i++)
			if (order_alive(o, list->v[i]))
				list->v[kept++] = list->v[i];
		list->n = kept;
		if (kept > list->cap / 2)
			MEM_GROW(list->v, list->cap, list->cap + 1);
	}
	list->v[list->n++] = now;
	if (list->n == 1)
		drop_list(f, v);
}

/* Edges from several reads; those that close a cycle stay, as the paper's R does. */
__attribute__((noinline)) static void edges_from_list(struct frontier *f, const struct event *e,
						      struct var *v, uint32_t *t, uint64_t event)
{
	struct reads *list = list_of(f, v);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		step src = list->v[i];

		if (!order_knows(&f->order, *t, src) && !add_edge(f, e, t, src, event))
			list->v[kept++] = src;
	}
	list->n = kept;
	if (kept <= 1)
		drop_list(f, v);
}

/* A write or an exclusive acquire meets reads of others. */
static void edges_from_reads(struct frontier *f, const struct event *e, struct var *v, uint32_t *t,
			     uint64_t event)
{
	if (v->r & READ_LIST)
		edges_from_list(f, e, v, t, event);
	else if (order_knows(&f->order, *t, v->r) || add_edge(f, e, t, v->r, event))
		v->r = STEP_NONE;
}

static void join(struct frontier *f, const struct event *e, uint32_t t, uint64_t event)
{
	uint32_t child = f->order.slot_of[e->operand];

	if (child != ORDER_NO_SLOT) {
		step last = f->order.slot[child].now;

		if (!order_knows(&f->order, t, last))
			add_edge(f, e, &t, last, event);
		order_leave(&f->order, e->operand);
	}
}

/* An operation on a variable or lock. */
static inline void take_usual(struct frontier *f, struct var *const tables[2],
			      const struct event *e, const struct effect *does, uint32_t t,
			      uint64_t event)
{
	struct var *v = &tables[does->table][e->operand];
	const struct order_slot *slot = &f->order.slot[t];
	step w = v->w & ~does->ignore_w, r = v->r & ~does->ignore_r;

	if (__builtin_expect(slot->row[ROW_SEEN][step_slot(w)] < step_index(w), 0) &&
	    !order_skip(&f->order, t, w)) {
		add_edge(f, e, &t, w, event);
		slot = &f->order.slot[t];
	}
	/* A read takes the place of none or of its own; a write follows known ones. */
	if (__builtin_expect((r & READ_LIST) || slot->row[does->own][step_slot(r)] < step_index(r),
			     0)) {
		if (does->set_r)
			add_read(f, v, t);
		else
			edges_from_reads(f, e, v, &t, event);
		v->w = effect_pick(does->set_w, f->order.slot[t].now, v->w);
		return;
	}
	v->w = effect_pick(does->set_w, slot->now, v->w);
	v->r = (slot->now & does->set_r) | (v->r & does->ignore_r);
}

/* An outermost block begins or ends. */
static inline void take_block(struct frontier *f, const struct event *e, uint32_t t, uint64_t event)
{
	bool begin = e->outer == OUTER_BEGIN;

	f->thread[e->thread].begin = begin ? event : f->thread[e->thread].begin;
	if (order_toggle(&f->order, t, begin))
		return;
	if (begin)
		order_begin(&f->order, t);
	else
		order_end(&f->order, t);
}

static inline void take_one(struct frontier *f, struct var *const tables[2], const struct event *e,
			    uint64_t event)
{
	const struct effect *does = &effects[e->op];
	uint32_t t = f->order.slot_of[e->thread];

	if (__builtin_expect(t == ORDER_NO_SLOT, 0)) {
		if (e->op == OP_NONE)
			return;
		t = arrive(f, e->thread);
	}
	if (does->usual) {
		take_usual(f, tables, e, does, t, event);
	} else if (e->op == OP_BEGIN || e->op == OP_END) {
		/* Inner blocks change nothing. */
		if (e->outer)
			take_block(f, e, t, event);
	} else if (e->op == OP_FORK) {
		f->thread[e->operand].birth = f->order.slot[t].now;
	} else if (e->op == OP_JOIN) {
		join(f, e, t, event);
	}
	/* Others carry no conflict. */
}

static void frontier_take(void *engine, const struct batch *b)
{
	struct frontier *f = engine;
	const struct table *names = b->names->table;
	const struct event *end = b->ev + b->n;
	uint64_t event = b->first;
	struct var *tables[2];

	if (f->explain) {
		explain_take(f->explain, b);
		return;
	}
	MEM_GROW0(f->var, f->var_cap, names[NAMES_VAR].n);
	MEM_GROW0(f->lock, f->lock_cap, names[NAMES_LOCK].n);
	MEM_GROW0(f->thread, f->thread_cap, names[NAMES_THREAD].n);
	order_threads(&f->order, names[NAMES_THREAD].n);

	tables[0] = f->var;
	tables[1] = f->lock;
	if (names[NAMES_VAR].n < EFFECT_LARGE_TABLE) {
		for (const struct event *e = b->ev; e < end; e++)
			take_one(f, tables, e, event++);
		return;
	}
	for (const struct event *e = b->ev; e < end; e++) {
		const struct event *ahead = effect_ahead(e, end);

		__builtin_prefetch(&tables[effects[ahead->op].table][ahead->operand], 1);
		take_one(f, tables, e, event++);
	}
}

/* Whether the others are told or not: an event closes the same cycle. */
static void drop_others(struct frontier *f)
{
	size_t kept = 0;

	f->nclosings = f->closings.n;
	for (size_t i = 0; i < f->closings.n; i++)
		if (!f->options->last_unit ||
		    (f->options->from && f->closings.v[i].event >= f->options->from &&
		     f->closings.v[i].thread == f->options->thread))
			f->closings.v[kept++] = f->closings.v[i];
	f->closings.n = kept;
}

static uint64_t frontier_finish(void *engine)
{
	struct frontier *f = engine;

	if (f->explain)
		return explain_finish(f->explain);
	drop_others(f);
	if (!f->closings.n)
		return 0;
	drop_state(f);
	f->explain = explain_new(&f->closings, f->sink);
	return f->closings.v[f->closings.n - 1].event;
}

static size_t frontier_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct frontier *f = engine;

	stats[0] = (struct engine_stat){"closing_events", f->nclosings};
	return 1;
}

static void frontier_destroy(void *engine)
{
	struct frontier *f = engine;

	drop_state(f);
	explain_free(f->explain);
	mem_free(f->closings.v);
	mem_free(f);
}

const struct engine_ops engine_frontier = {
	.name = "frontier",
	.origin = "ours",
	.finding = "this very run is not serializable; with the cycle",
	.silence = "this run is serializable",
	.noun = "atomicity violation",
	.second_pass = true,
	.create = frontier_create,
	.take = frontier_take,
	.finish = frontier_finish,
	.stats = frontier_stats,
	.destroy = frontier_destroy,
};
