/*
 * What a good run teaches: pairs of accesses of one variable, by one thread in one function, that
 * no other thread's access cut. After Lu, Tucek, Qin and Zhou, "AVIO: detecting atomicity
 * violations via access interleaving invariants" (ASPLOS 2006).
 *
 * A pair is an access and the thread's next access of the variable. It belongs to the innermost
 * block that contains both, or to the region (engine/region.h). An access of another thread in
 * between cuts it if no serial order explains the three. Pairs in one critical section are left
 * out: the lock says already that they belong together. So are variables that only one thread uses
 * at a time.
 */
#include <string.h>

#include "base/mem.h"
#include "cli/refine.h"
#include "engine/contention.h"
#include "engine/describe.h"
#include "engine/region.h"
#include "report/learned.h"
#include "report/region.h"
#include "trace/blocks.h"

#include "base/banned.h"

/* A function that a thread is in. */
struct call {
	uint64_t begin; /* event number */
	strref label;
	bool is_block;
};

struct thread {
	struct call *call;
	size_t depth, cap;
	uint32_t held, section; /* number of locks; number of the outermost critical section */
};

/* The last access of a variable by a thread. */
struct own_access {
	uint64_t event;
	strref place;
	uint32_t region, section; /* section 0: no lock was held */
	uint8_t op;
};

/* The last two writes, or reads, of a variable by different threads. */
struct last_two {
	struct {
		uint64_t event;
		uint32_t thread;
	} v[2];
};
struct var {
	struct last_two read, write;
};

/* A pair by its places; several of these may have the same text. */
struct pair {
	strref before, after, label;
	uint8_t ops[2];
	uint32_t life;
	bool cut;
};

struct learning {
	struct regions regions;
	struct phases phases;
	struct contention contention;
	struct thread *thread;
	struct var *var;
	size_t thread_cap, var_cap;
	struct map accesses; /* (variable, thread) -> index in `access` */
	struct own_access *access;
	size_t naccess, access_cap;
	struct map pairs; /* (places, label and operations) -> index in `pair` */
	struct pair *pair;
	size_t npair, pair_cap;
};

/* A run with more of them has no line for the others. */
enum { PAIRS_MAX = 1 << 16 };

static void note_last(struct last_two *l, uint32_t thread, uint64_t event)
{
	if (l->v[0].thread != thread)
		l->v[1] = l->v[0];
	l->v[0].thread = thread;
	l->v[0].event = event;
}

/* Was there one by another thread since that event? */
static bool came_between(const struct last_two *l, uint32_t thread, uint64_t since)
{
	return (l->v[0].event > since && l->v[0].thread != thread) ||
	       (l->v[1].event > since && l->v[1].thread != thread);
}

static void note_pair(struct learning *g, const struct own_access *before, const struct event *e,
		      strref label, bool cut)
{
	uint64_t a = (uint64_t)before->place << 32 | e->place;
	uint64_t b = (uint64_t)label << 32 | (uint64_t)before->op << 8 | e->op;
	uint32_t i = map_get2(&g->pairs, a, b);

	if (i == MAP_NONE) {
		if (g->npair == PAIRS_MAX)
			return;
		i = (uint32_t)g->npair++;
		MEM_GROW(g->pair, g->pair_cap, g->npair);
		g->pair[i] = (struct pair){.before = before->place,
					   .after = e->place,
					   .label = label,
					   .ops = {before->op, e->op}};
		map_set2(&g->pairs, a, b, i);
	}
	g->pair[i].cut |= cut;
	g->pair[i].life = contention_life(&g->contention, e->operand);
}

/* Returns the innermost block that was open at both accesses, or the region of both; 0: none. */
static strref common_label(const struct learning *g, const struct own_access *before,
			   const struct event *e)
{
	const struct thread *t = &g->thread[e->thread];
	const struct region *region = &g->regions.thread[e->thread];

	for (size_t i = t->depth; i-- > 0;)
		if (t->call[i].begin < before->event && t->call[i].is_block)
			return t->call[i].label;
	return before->region && before->region == region->id ? region->label : 0;
}

static void take_access(struct learning *g, const struct event *e, uint64_t event)
{
	const struct thread *t = &g->thread[e->thread];
	const struct var *v = &g->var[e->operand];
	uint32_t section = t->held ? t->section : 0, i;
	struct own_access *before;
	strref label = 0;

	i = map_get2(&g->accesses, e->operand, e->thread);
	if (i == MAP_NONE) {
		i = (uint32_t)g->naccess++;
		MEM_GROW(g->access, g->access_cap, g->naccess);
		g->access[i] = (struct own_access){0};
		map_set2(&g->accesses, e->operand, e->thread, i);
	}
	before = &g->access[i];
	if (before->event && before->op != OP_UPDATE && e->op != OP_UPDATE &&
	    !(section && section == before->section))
		label = common_label(g, before, e);
	if (label) {
		bool writes = before->op == OP_WRITE && e->op == OP_WRITE;

		note_pair(g, before, e, label,
			  came_between(writes ? &v->read : &v->write, e->thread, before->event));
	}
	*before = (struct own_access){.event = event,
				      .place = e->place,
				      .region = g->regions.thread[e->thread].id,
				      .section = section,
				      .op = e->op};
}

static void take_call(struct thread *t, const struct event *e, uint64_t event)
{
	if (e->op == OP_BEGIN || e->left_out == LEFT_OUT_BEGIN ||
	    e->left_out == LEFT_OUT_BEGIN_EXCLUDED) {
		MEM_GROW(t->call, t->cap, t->depth + 1);
		t->call[t->depth++] = (struct call){event, e->operand, e->op == OP_BEGIN};
	} else if ((e->op == OP_END || e->left_out == LEFT_OUT_END) && t->depth) {
		t->depth--;
	}
}

static void take_event(struct learning *g, const struct batch *b, const struct event *e,
		       uint64_t event)
{
	struct thread *t = &g->thread[e->thread];
	bool in_block = false;

	for (size_t i = 0; i < t->depth && !in_block; i++)
		in_block = t->call[i].is_block;
	region_take(&g->regions, b, e, event, in_block);
	take_call(t, e, event);
	if (e->op == OP_NONE)
		return;
	phases_take(&g->phases, e);
	contention_look(&g->contention, &g->phases, e);
	if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
		t->section += !t->held++;
	else if (op_is_lock(e->op) && t->held)
		t->held--;
	if (!op_is_access(e->op))
		return;
	take_access(g, e, event);
	if (e->op != OP_READ)
		note_last(&g->var[e->operand].write, e->thread, event);
	if (e->op != OP_WRITE)
		note_last(&g->var[e->operand].read, e->thread, event);
}

static void take_batch(struct learning *g, const struct batch *b)
{
	const struct table *names = b->names->table;

	regions_prepare(&g->regions, b);
	phases_room(&g->phases, names[NAMES_THREAD].n, names[NAMES_LOCK].n);
	contention_room(&g->contention, names[NAMES_VAR].n, names[NAMES_LOCK].n);
	MEM_GROW0(g->thread, g->thread_cap, names[NAMES_THREAD].n);
	MEM_GROW0(g->var, g->var_cap, names[NAMES_VAR].n);
	for (uint32_t i = 0; i < b->n; i++)
		take_event(g, b, &b->ev[i], b->first + i);
}

static void add_pair(const struct names *names, const struct pair *p, struct refine_answer *out)
{
	struct finding *f = finding_new();
	struct finding_stack before = describe_stack(f, names, p->before);
	struct finding_stack after = describe_stack(f, names, p->after);
	struct str text = STR_INIT, function = STR_INIT;

	names_add_string(names, p->label, &function);
	if (learned_describe(&text, &(struct learned_access){op_info[p->ops[0]].spelling, &before},
			     &(struct learned_access){op_info[p->ops[1]].spelling, &after},
			     region_inlined(&before, &after, function.s)))
		refine_add_pair(&out->pairs, text.s, p->cut, 1);
	str_free(&text);
	str_free(&function);
	finding_free(f);
}

void refine_add_pair(struct refine_pairs *pairs, const char *text, bool cut, unsigned runs)
{
	uint64_t hash = 14695981039346656037ull;
	uint32_t i;

	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	i = map_get(&pairs->by_text, hash);
	if (i == MAP_NONE) {
		i = (uint32_t)pairs->n++;
		MEM_GROW(pairs->v, pairs->cap, pairs->n);
		pairs->v[i] = (struct refine_pair){.text = mem_strdup(text)};
		map_set(&pairs->by_text, hash, i);
	}
	pairs->v[i].cut |= cut;
	pairs->v[i].runs += runs;
}

void refine_pairs_free(struct refine_pairs *pairs)
{
	while (pairs->n)
		mem_free(pairs->v[--pairs->n].text);
	mem_free(pairs->v);
	map_free(&pairs->by_text);
	*pairs = (struct refine_pairs){0};
}

void refine_learn(struct reader *r, struct refine_answer *out)
{
	struct event *ev;
	struct learning g = {0};
	struct batch b = {.first = 1, .names = reader_names(r)};
	struct err ignored = {{0}};
	int n;

	if (!reader_is_recorded(r) || reader_rewind(r, &ignored))
		return;
	ev = mem_alloc(READER_BATCH * sizeof *ev);
	while ((n = reader_next(r, ev, &ignored)) > 0) {
		b.ev = ev;
		b.n = (uint32_t)n;
		take_batch(&g, &b);
		b.first += b.n;
	}
	for (size_t i = 0; i < g.npair; i++)
		if (contention_life_takes_part(&g.contention, g.pair[i].life))
			add_pair(b.names, &g.pair[i], out);
	for (size_t i = 0; i < g.thread_cap; i++)
		mem_free(g.thread[i].call);
	regions_free(&g.regions);
	phases_free(&g.phases);
	contention_free(&g.contention);
	map_free(&g.accesses);
	map_free(&g.pairs);
	mem_free(g.thread);
	mem_free(g.var);
	mem_free(g.access);
	mem_free(g.pair);
	mem_free(ev);
}
