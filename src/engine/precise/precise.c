/*
 * The last accesses of each variable and lock, and the edges that an event adds;
 * order.h explains the idea.
 *
 * If its edges add nothing, an event costs one load for the thread's slot and its
 * current step, the variable's 16 bytes, and one comparison in the thread's row of
 * `seen` for each last access by another thread.
 */
#include "engine/precise/precise.h"

#include "base/mem.h"
#include "engine/precise/effect.h"

#include "base/banned.h"

void precise_init(struct precise *f)
{
	*f = (struct precise){0};
	order_init(&f->order, false);
}

void precise_free(struct precise *f)
{
	for (size_t i = 0; i < f->nreads; i++)
		mem_free(f->reads[i].v);
	mem_free(f->reads);
	mem_free(f->var);
	mem_free(f->lock);
	mem_free(f->thread);
	order_free(&f->order);
	*f = (struct precise){.closings = f->closings};
}

/* Enter a thread that has no slot: it is new, or was idle for long. */
__attribute__((noinline)) static uint32_t enter_thread(struct precise *f, uint32_t thread)
{
	step birth = f->thread[thread].birth;
	uint32_t t = order_enter(&f->order, thread);

	f->thread[thread].birth = STEP_NONE;
	if (!order_knows(&f->order, t, birth))
		order_add(&f->order, t, birth, 0, 0);
	return f->order.slot_of[thread];
}

/* Add an edge that may be new. Returns false if it closes a cycle. */
__attribute__((noinline)) static bool add_edge(struct precise *f, const struct event *e,
					       uint32_t *t, step src, uint64_t event)
{
	if (order_add(&f->order, *t, src, 0, 0) == ORDER_CYCLE) {
		closings_add(&f->closings, event, f->thread[e->thread].begin, e->thread);
		return false;
	}
	*t = f->order.slot_of[e->thread];
	return true;
}

static struct precise_reads *new_list(struct precise *f, struct precise_var *v)
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

static struct precise_reads *list_of(struct precise *f, const struct precise_var *v)
{
	return &f->reads[v->r & ~READ_LIST];
}

/* Free the list of reads. */
static void drop_list(struct precise *f, struct precise_var *v)
{
	struct precise_reads *list = list_of(f, v);
	uint32_t at = (uint32_t)(v->r & ~READ_LIST);

	v->r = list->n ? list->v[0] : STEP_NONE;
	list->n = 0;
	list->next_free = f->free_reads;
	f->free_reads = at + 1;
}

/*
 * Add a read by slot t to other reads. Reads that no open transaction reaches will
 * never matter, and are dropped. Reads that t knows come before it, but it does not
 * replace them: its edge to a later write may close a cycle and be left out, when
 * theirs do not.
 */
__attribute__((noinline)) static void add_read(struct precise *f, struct precise_var *v, uint32_t t)
{
	const struct order *o = &f->order;
	step now = o->slot[t].now;
	struct precise_reads *list;

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
		/* Usually the same readers come again and again: this one has an entry. */
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

/* Add edges from several reads. Reads whose edge closes a cycle stay, as the paper's R does. */
__attribute__((noinline)) static void edges_from_list(struct precise *f, const struct event *e,
						      struct precise_var *v, uint32_t *t,
						      uint64_t event)
{
	struct precise_reads *list = list_of(f, v);
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

/* Add the edges from reads of other threads into a write or an exclusive acquire. */
static void edges_from_reads(struct precise *f, const struct event *e, struct precise_var *v,
			     uint32_t *t, uint64_t event)
{
	if (v->r & READ_LIST)
		edges_from_list(f, e, v, t, event);
	else if (order_knows(&f->order, *t, v->r) || add_edge(f, e, t, v->r, event))
		v->r = STEP_NONE;
}

static void take_join(struct precise *f, const struct event *e, uint32_t t, uint64_t event)
{
	uint32_t child = f->order.slot_of[e->operand];

	if (child != ORDER_NO_SLOT) {
		step last = f->order.slot[child].now;

		if (!order_knows(&f->order, t, last))
			add_edge(f, e, &t, last, event);
		order_leave(&f->order, e->operand);
	}
}

/* Take an operation on a variable or lock. */
static inline void take_operation(struct precise *f, struct precise_var *const tables[2],
				  const struct event *e, const struct effect *does, uint32_t t,
				  uint64_t event)
{
	struct precise_var *v = &tables[does->table][e->operand];
	const struct order_slot *slot = &f->order.slot[t];
	step w = v->w & ~does->ignore_w, r = v->r & ~does->ignore_r;

	if (__builtin_expect(slot->row[ROW_SEEN][step_slot(w)] < step_index(w), 0) &&
	    !order_skip(&f->order, t, w)) {
		add_edge(f, e, &t, w, event);
		slot = &f->order.slot[t];
	}
	/* The usual read replaces no read, or its own; the usual write follows known ones. */
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

/* Take the begin or end of an outermost block. */
static inline void take_block(struct precise *f, const struct event *e, uint32_t t, uint64_t event)
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

static inline void take_one(struct precise *f, struct precise_var *const tables[2],
			    const struct event *e, uint64_t event)
{
	const struct effect *does = &effects[e->op];
	uint32_t t = f->order.slot_of[e->thread];

	if (__builtin_expect(t == ORDER_NO_SLOT, 0)) {
		if (e->op == OP_NONE)
			return;
		t = enter_thread(f, e->thread);
	}
	if (does->usual) {
		take_operation(f, tables, e, does, t, event);
	} else if (e->op == OP_BEGIN || e->op == OP_END) {
		/* Inner blocks change nothing. */
		if (e->outer)
			take_block(f, e, t, event);
	} else if (e->op == OP_FORK) {
		f->thread[e->operand].birth = f->order.slot[t].now;
	} else if (e->op == OP_JOIN) {
		take_join(f, e, t, event);
	}
	/* Other operations do not conflict. */
}

void precise_room(struct precise *f, size_t vars, size_t locks, size_t threads)
{
	MEM_GROW0(f->var, f->var_cap, vars);
	MEM_GROW0(f->lock, f->lock_cap, locks);
	MEM_GROW0(f->thread, f->thread_cap, threads);
	order_threads(&f->order, threads);
}

void precise_take(struct precise *f, const struct batch *b)
{
	const struct table *names = b->names->table;
	const struct event *end = b->ev + b->n;
	uint64_t event = b->first;
	struct precise_var *tables[2];

	precise_room(f, names[NAMES_VAR].n, names[NAMES_LOCK].n, names[NAMES_THREAD].n);
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

void precise_one(struct precise *f, const struct event *e, uint64_t event)
{
	struct precise_var *tables[2] = {f->var, f->lock};

	take_one(f, tables, e, event);
}

void precise_born(struct precise *f, uint32_t thread)
{
	uint32_t t = order_slot_of(&f->order, thread);
	step birth = f->thread[thread].birth;

	f->thread[thread].birth = STEP_NONE;
	if (!order_knows(&f->order, t, birth))
		order_add(&f->order, t, birth, 0, 0);
}
