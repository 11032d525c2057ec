/*
 * velodrome: the analysis of Flanagan, Freund and Yi (PLDI 2008), on the graph
 * of graph.h. C, L, U, W and R are the paper's: a thread's open transaction and
 * last step, a lock's last release, a variable's last write and each thread's
 * last read. Blame is exact and comes from a second pass (explain.h), not from
 * the paper's test for increasing cycles.
 *
 * The paper merges an operation outside blocks into any node that comes after
 * all of its predecessors. We merge only into one that has ended: merged into
 * an open transaction of another thread, an operation would share that node's
 * later predecessors, and the edge that goes from it back into the open
 * transaction, which closes a cycle, would look like an edge to itself.
 */
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/precise/effect.h"
#include "engine/precise/explain.h"
#include "engine/precise/graph.h"
#include "engine/precise/options.h"

#include "base/banned.h"

struct read {
	graph_step at;
	uint32_t thread;
	uint32_t list; /* of a variable with several reads: 1 + index into `reads` */
};

/* A variable, or a lock: an exclusive release is its write, a shared release its read. */
struct var {
	graph_step w;
	struct read r;
};

struct reads {
	struct read *v;
	size_t cap;
	uint32_t n;
	uint32_t next_free; /* 1 + index */
};

struct thread {
	bool open;       /* it has an open transaction */
	uint32_t node;   /* C: the node of that transaction */
	graph_step last; /* L */
	uint64_t begin;  /* event of the outermost block */
	bool ran;
};

struct velodrome {
	struct graph graph;
	bool merge;
	struct var *var, *lock;
	size_t var_cap, lock_cap;
	struct thread *thread;
	size_t thread_cap;
	struct reads *reads;
	size_t nreads, reads_cap;
	uint32_t free_reads;
	graph_step *from; /* scratch: predecessors of an operation outside blocks */
	size_t nfrom, from_cap;
	struct closings closings;
	struct finding_sink *sink;
	struct explain *explain;
};

static void *velodrome_create(const void *options, struct finding_sink *sink)
{
	const struct velodrome_options *o = options;
	struct velodrome *v = mem_zalloc(sizeof *v);

	graph_init(&v->graph);
	v->merge = !o->no_merge;
	v->sink = sink;
	return v;
}

static void drop_state(struct velodrome *v)
{
	struct graph counts = v->graph;

	for (size_t i = 0; i < v->nreads; i++)
		mem_free(v->reads[i].v);
	mem_free(v->reads);
	mem_free(v->var);
	mem_free(v->lock);
	mem_free(v->thread);
	mem_free(v->from);
	graph_free(&v->graph);
	v->reads = NULL;
	v->nreads = 0;
	v->var = v->lock = NULL;
	v->thread = NULL;
	v->from = NULL;
	v->graph = (struct graph){.allocated = counts.allocated, .max_alive = counts.max_alive};
}

/* Add an edge from `src` into the thread's open transaction. Returns false if it closes a cycle. */
static bool add_edge(struct velodrome *v, const struct event *e, graph_step src, uint64_t event)
{
	struct thread *t = &v->thread[e->thread];
	uint32_t node = graph_node_of(&v->graph, src);

	if (node == GRAPH_NONE || graph_add(&v->graph, node, t->node))
		return true;
	closings_add(&v->closings, event, t->begin, e->thread);
	return false;
}

/* The paper's merge looks for a predecessor that comes after all the others. */
enum { MERGE_TRIES = 8 };

static uint32_t find_merge_target(struct velodrome *v)
{
	struct graph *g = &v->graph;

	for (size_t j = 0; j < v->nfrom && j < MERGE_TRIES; j++) {
		uint32_t to = graph_node_of(g, v->from[j]);
		size_t i = 0;

		if (g->node[to].open)
			continue;
		while (i < v->nfrom && graph_path(g, graph_node_of(g, v->from[i]), to))
			i++;
		if (i == v->nfrom)
			return to;
	}
	return GRAPH_NONE;
}

static void add_source(struct velodrome *v, graph_step src)
{
	uint32_t node = graph_node_of(&v->graph, src);

	if (node == GRAPH_NONE)
		return;
	for (size_t i = 0; i < v->nfrom; i++)
		if (graph_node_of(&v->graph, v->from[i]) == node)
			return;
	MEM_GROW(v->from, v->from_cap, v->nfrom + 1);
	v->from[v->nfrom++] = src;
}

/*
 * Take an operation outside blocks; its predecessors besides L are in v->from.
 * Returns its step, which becomes L. It closes no cycle: nothing comes after it yet.
 */
static graph_step take_outside(struct velodrome *v, struct thread *t, uint64_t event)
{
	uint32_t node = GRAPH_NONE;

	add_source(v, t->last);
	if (v->merge) {
		if (!v->nfrom)
			return t->last = 0;
		node = find_merge_target(v);
	}
	if (node == GRAPH_NONE) {
		node = graph_new(&v->graph, event);
		for (size_t i = 0; i < v->nfrom; i++)
			graph_add(&v->graph, graph_node_of(&v->graph, v->from[i]), node);
		graph_close(&v->graph, node);
	}
	return t->last = graph_step_of(node, event);
}

static struct reads *new_list(struct velodrome *v, struct var *x)
{
	uint32_t at = v->free_reads;

	if (at) {
		v->free_reads = v->reads[at - 1].next_free;
	} else {
		MEM_GROW0(v->reads, v->reads_cap, v->nreads + 1);
		at = (uint32_t)++v->nreads;
	}
	x->r.list = at;
	return &v->reads[at - 1];
}

static void add_to_list(struct reads *list, graph_step at, uint32_t thread)
{
	MEM_GROW(list->v, list->cap, list->n + 1);
	list->v[list->n++] = (struct read){.at = at, .thread = thread};
}

static void record_read(struct velodrome *v, struct var *x, uint32_t thread, graph_step at)
{
	struct reads *list;
	uint32_t kept = 0;

	if (!x->r.list) {
		if (x->r.thread == thread || !graph_step_alive(&v->graph, x->r.at)) {
			x->r = (struct read){.at = at, .thread = thread};
			return;
		}
		list = new_list(v, x);
		add_to_list(list, x->r.at, x->r.thread);
		add_to_list(list, at, thread);
		return;
	}
	list = &v->reads[x->r.list - 1];
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->v[i].thread == thread) {
			list->v[i].at = at;
			return;
		}
	}
	/* Before the list grows, drop dead reads. */
	for (uint32_t i = 0; list->n == list->cap && i < list->n; i++)
		if (graph_step_alive(&v->graph, list->v[i].at))
			list->v[kept++] = list->v[i];
	if (list->n == list->cap)
		list->n = kept;
	add_to_list(list, at, thread);
}

/* Returns the reads of a variable. */
static struct read *reads_of(struct velodrome *v, struct var *x, uint32_t *n)
{
	if (x->r.list) {
		*n = v->reads[x->r.list - 1].n;
		return v->reads[x->r.list - 1].v;
	}
	*n = x->r.at != 0;
	return &x->r;
}

/* Keep the first n reads of a variable. */
static void keep_reads(struct velodrome *v, struct var *x, uint32_t n)
{
	uint32_t at = x->r.list;

	if (at && n > 1) {
		v->reads[at - 1].n = n;
		return;
	}
	if (at) {
		struct reads *list = &v->reads[at - 1];

		x->r = n ? list->v[0] : (struct read){0};
		list->n = 0;
		list->next_free = v->free_reads;
		v->free_reads = at;
	} else if (!n) {
		x->r.at = 0;
	}
}

/* Take a read or a shared acquire. */
static graph_step take_after_write(struct velodrome *v, const struct event *e, struct var *x,
				   uint64_t event)
{
	struct thread *t = &v->thread[e->thread];

	if (t->open) {
		add_edge(v, e, x->w, event);
		return t->last = graph_step_of(t->node, event);
	}
	v->nfrom = 0;
	add_source(v, x->w);
	return take_outside(v, t, event);
}

/* Take a write or an exclusive acquire. Reads whose edge closes a cycle stay. */
static graph_step take_after_all(struct velodrome *v, const struct event *e, struct var *x,
				 uint64_t event)
{
	struct thread *t = &v->thread[e->thread];
	uint32_t n, kept = 0;
	struct read *r = reads_of(v, x, &n);

	if (t->open) {
		add_edge(v, e, x->w, event);
		for (uint32_t i = 0; i < n; i++)
			if (!add_edge(v, e, r[i].at, event))
				r[kept++] = r[i];
		keep_reads(v, x, kept);
		return t->last = graph_step_of(t->node, event);
	}
	v->nfrom = 0;
	add_source(v, x->w);
	for (uint32_t i = 0; i < n; i++)
		add_source(v, r[i].at);
	keep_reads(v, x, 0);
	return take_outside(v, t, event);
}

/* Take a release or a fork: it has no predecessor but its own thread's. */
static graph_step take_after_own(struct velodrome *v, struct thread *t, uint64_t event)
{
	if (t->open)
		return t->last = graph_step_of(t->node, event);
	v->nfrom = 0;
	return take_outside(v, t, event);
}

static void begin_transaction(struct velodrome *v, struct thread *t, uint64_t event)
{
	uint32_t last = graph_node_of(&v->graph, t->last);

	t->open = true;
	t->begin = event;
	t->node = graph_new(&v->graph, event);
	if (last != GRAPH_NONE)
		graph_add(&v->graph, last, t->node);
	t->last = graph_step_of(t->node, event);
}

static void end_transaction(struct velodrome *v, struct thread *t)
{
	t->open = false;
	graph_close(&v->graph, t->node);
}

static void take_join(struct velodrome *v, const struct event *e, uint64_t event)
{
	struct thread *t = &v->thread[e->thread], *child = &v->thread[e->operand];

	v->nfrom = 0;
	if (!t->open) {
		if (child->ran)
			add_source(v, child->last);
		take_outside(v, t, event);
	} else if (child->ran) {
		add_edge(v, e, child->last, event);
	}
	/* A block that it left open gets no more edges. */
	if (child->open) {
		child->open = false;
		graph_close(&v->graph, child->node);
	}
}

__attribute__((noinline)) static void take_slow(struct velodrome *v, const struct event *e,
						uint64_t event)
{
	struct thread *t = &v->thread[e->thread];
	struct var *x;

	if (e->op == OP_NONE)
		return;
	t->ran = true;
	switch (e->op) {
	case OP_READ:
		x = &v->var[e->operand];
		record_read(v, x, e->thread, take_after_write(v, e, x, event));
		break;
	case OP_WRITE:
	case OP_UPDATE:
		x = &v->var[e->operand];
		x->w = take_after_all(v, e, x, event);
		break;
	case OP_ACQUIRE:
		take_after_all(v, e, &v->lock[e->operand], event);
		break;
	case OP_RELEASE:
		v->lock[e->operand].w = take_after_own(v, t, event);
		break;
	case OP_ACQUIRE_SHARED:
		take_after_write(v, e, &v->lock[e->operand], event);
		break;
	case OP_RELEASE_SHARED:
		record_read(v, &v->lock[e->operand], e->thread, take_after_own(v, t, event));
		break;
	case OP_FORK:
		v->thread[e->operand].last = take_after_own(v, t, event);
		break;
	case OP_JOIN:
		take_join(v, e, event);
		break;
	default:
		take_after_own(v, t, event); /* conflicts only within its thread */
	}
}

/* Is this step dead, or a step of the node itself? */
static inline bool is_dead_or_own(const struct graph_node *node, graph_step s, uint32_t own)
{
	uint32_t n = (uint32_t)s & GRAPH_NONE;

	return (n == own) | (node[n].born > s >> GRAPH_NODE_BITS);
}

/*
 * Take an access or lock operation inside a block. Returns false, and does nothing, if
 * another node is involved: what came before must be dead or its own.
 */
static inline bool take_without_edge(struct velodrome *v, struct var *const tables[2],
				     const struct event *e, const struct effect *does,
				     struct thread *t, uint64_t event)
{
	struct var *x = &tables[does->table][e->operand];
	const struct graph_node *node = v->graph.node;
	graph_step now = graph_step_of(t->node, event);
	bool w_ok = is_dead_or_own(node, effect_pick(does->ignore_w, now, x->w), t->node);
	bool r_ok = is_dead_or_own(node, effect_pick(does->ignore_r, now, x->r.at), t->node) |
		    (x->r.thread == e->thread);

	if (__builtin_expect(!(w_ok & r_ok & !x->r.list), 0))
		return false;
	t->last = now;
	x->w = effect_pick(does->set_w, now, x->w);
	x->r.at = (now & does->set_r) | (x->r.at & does->ignore_r);
	x->r.thread = (uint32_t)effect_pick(does->set_r, e->thread, x->r.thread);
	return true;
}

static inline void take_one(struct velodrome *v, struct var *const tables[2], const struct event *e,
			    uint64_t event)
{
	const struct effect *does = &effects[e->op];
	struct thread *t = &v->thread[e->thread];

	if (does->usual & t->open) {
		if (take_without_edge(v, tables, e, does, t, event))
			return;
	} else if (e->op == OP_BEGIN || e->op == OP_END) {
		t->ran = true;
		if (e->outer == OUTER_BEGIN)
			begin_transaction(v, t, event);
		else if (e->outer == OUTER_END)
			end_transaction(v, t);
		return;
	}
	take_slow(v, e, event);
}

static void velodrome_take(void *engine, const struct batch *b)
{
	struct velodrome *v = engine;
	const struct table *names = b->names->table;
	const struct event *end_of_batch = b->ev + b->n;
	uint64_t event = b->first;
	struct var *tables[2];

	if (v->explain) {
		explain_take(v->explain, b);
		return;
	}
	MEM_GROW0(v->var, v->var_cap, names[NAMES_VAR].n);
	MEM_GROW0(v->lock, v->lock_cap, names[NAMES_LOCK].n);
	MEM_GROW0(v->thread, v->thread_cap, names[NAMES_THREAD].n);
	tables[0] = v->var;
	tables[1] = v->lock;
	if (names[NAMES_VAR].n < EFFECT_LARGE_TABLE) {
		for (const struct event *e = b->ev; e < end_of_batch; e++)
			take_one(v, tables, e, event++);
		return;
	}
	for (const struct event *e = b->ev; e < end_of_batch; e++) {
		const struct event *ahead = effect_ahead(e, end_of_batch);

		__builtin_prefetch(&tables[effects[ahead->op].table][ahead->operand], 1);
		take_one(v, tables, e, event++);
	}
}

static uint64_t velodrome_finish(void *engine)
{
	struct velodrome *v = engine;

	if (v->explain)
		return explain_finish(v->explain);
	if (!v->closings.n)
		return 0;
	drop_state(v);
	v->explain = explain_new(&v->closings, NULL, v->sink);
	return v->closings.v[v->closings.n - 1].event;
}

static size_t velodrome_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct velodrome *v = engine;

	stats[0] = (struct engine_stat){"closing_events", v->closings.n};
	stats[1] = (struct engine_stat){"merge", v->merge};
	stats[2] = (struct engine_stat){"nodes_allocated", v->graph.allocated};
	stats[3] = (struct engine_stat){"nodes_max_alive", v->graph.max_alive};
	return 4;
}

static void velodrome_destroy(void *engine)
{
	struct velodrome *v = engine;

	drop_state(v);
	explain_free(v->explain);
	mem_free(v->closings.v);
	mem_free(v);
}

const struct opt velodrome_opts[] = {
	OPT_FLAG(0, "no-merge", OPT_FIELD(struct velodrome_options, no_merge),
		 "velodrome: a node for every operation outside blocks"),
	OPT_END,
};

const struct engine_ops engine_velodrome = {
	.name = "velodrome",
	.origin = "PLDI 2008",
	.finding = "this very run is not serializable; the finding shows the cycle",
	.silence = "this run is serializable",
	.noun = "atomicity violation",
	.second_pass = true,
	.opts = velodrome_opts,
	.defaults = &(const struct velodrome_options){0},
	.create = velodrome_create,
	.take = velodrome_take,
	.finish = velodrome_finish,
	.stats = velodrome_stats,
	.destroy = velodrome_destroy,
};
