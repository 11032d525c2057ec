/*
 * doublechecker: the two passes of Biswas, Huang, Sengupta and Bond (PLDI 2014)
 * over a trace. The imprecise one (icd.h, idg.h) checks every access, but only for
 * ownership; what it suspects goes to the precise one (pcd.h). explain.h makes the
 * findings from closing events, as for the other precise engines.
 *
 * Memory. Logs and nodes are freed with their components. If they exceed the budget
 * all the same (a transaction that does not end keeps everything after it), logs are
 * dropped, and then nodes are pooled. Nodes are also pooled when searches take too long
 * for the number of events: a component that keeps growing is searched each time. If
 * such a transaction is suspected later, the trace is read again and all of it checked
 * precisely: the verdict stays exact, and the statistics say what happened.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/doublechecker/filter.h"
#include "engine/doublechecker/icd.h"
#include "engine/doublechecker/idg.h"
#include "engine/doublechecker/options.h"
#include "engine/doublechecker/pcd.h"
#include "engine/engine.h"
#include "engine/precise/effect.h"
#include "engine/precise/explain.h"

#include "base/banned.h"

/* WORK: edges that searches may follow for each event, besides a part of the budget. */
enum { LOG_BUDGET = 64 << 20, NODE_BYTES = 256, WORK = 32, WORK_BYTES = 64 };

struct thread {
	idg_ref last;      /* its transaction, or its last operation; may be freed */
	idg_ref last_rdex; /* where it last came to RdEx by a conflict */
	idg_ref birth;     /* the transaction that forked it */
	uint64_t stamp;    /* see `struct logged` */
	uint32_t seen;     /* icd.h */
	bool open, ran, listed;
};

/*
 * What a log has about a variable or lock. An access is a repeat if it is quiet and an
 * equal one is in the log under the thread's current stamp. A stamp belongs to one
 * node. Outside blocks, an access that may have added an edge begins a new stamp: what
 * comes before it and what comes after it are not in one transaction.
 */
struct logged {
	uint64_t stamp;
	uint32_t mask;
};
enum { HAS_ACQUIRE = 1, HAS_READ = 2, HAS_WRITE = 4 };

static const struct {
	uint8_t is, covered_by;
	bool write;
} uses[OP_COUNT] = {
	[OP_READ] = {HAS_READ, HAS_READ | HAS_WRITE, false},
	[OP_WRITE] = {HAS_WRITE, HAS_WRITE, true},
	[OP_UPDATE] = {HAS_WRITE, HAS_WRITE, true},
	[OP_ACQUIRE] = {HAS_ACQUIRE, HAS_ACQUIRE | HAS_WRITE, true},
	[OP_RELEASE] = {HAS_WRITE, HAS_WRITE, true},
	[OP_ACQUIRE_SHARED] = {HAS_ACQUIRE, HAS_ACQUIRE | HAS_READ | HAS_WRITE, false},
	[OP_RELEASE_SHARED] = {HAS_READ, HAS_READ | HAS_WRITE, false},
};

struct table_of {
	icd_state *state; /* by object of icd.h */
	struct logged *logged;
	size_t state_cap, logged_cap;
};

enum pass { IMPRECISE, PRECISE, EXPLAIN, TELL };

struct doublechecker {
	struct doublechecker_options options;
	enum pass pass;
	struct idg idg;
	struct table_of var, lock;
	struct thread *thread;
	size_t thread_cap, nthreads, nvars, nlocks;
	uint32_t *active; /* threads whose `last` may exist */
	size_t nactive, active_cap;
	uint32_t count; /* icd.h */
	idg_ref last_share;
	uint64_t stamp;
	uint32_t *src; /* scratch: where edges come from */
	size_t nsrc, src_cap;
	uint64_t event;
	struct filter *filter; /* NULL: everything is checked */
	bool logging, again;   /* again: check the whole trace precisely */
	uint64_t budget, max_nodes, max_work;
	struct precise precise;
	struct explain *explain;
	struct finding_sink *sink;
	struct {
		uint64_t blocks, inside, outside, logged, components, blocks_passed,
			accesses_passed, dropped, pooled, given;
	} n;
};

static void component_done(void *arg, struct idg *g, uint32_t component)
{
	struct doublechecker *d = arg;
	const struct idg_node *c = &g->node[component];
	uint32_t member = component;
	bool elided;

	d->n.components++;
	d->n.blocks_passed += c->blocks;
	d->n.accesses_passed += c->accesses;
	if (d->options.suspects_out) {
		do {
			if (g->node[member].outside)
				d->options.suspects_out->outside = true;
			else
				filter_suspect(d->filter, g->node[member].label);
			member = g->node[member].next;
		} while (member != component);
		return;
	}
	if (d->again) {
		d->n.given += c->blocks;
		return;
	}
	if (!c->lost) {
		precise_room(&d->precise, d->nvars, d->nlocks, d->nthreads);
		if (!pcd_replay(&d->precise, g, component, &elided) || !elided)
			return;
	}
	/* Logs are no longer needed. */
	d->n.given += c->blocks;
	d->again = true;
	d->logging = false;
}

static void *doublechecker_create(const void *options, struct finding_sink *sink)
{
	const struct doublechecker_options *o = options;
	struct doublechecker *d = mem_zalloc(sizeof *d);

	d->options = *o;
	d->sink = sink;
	d->budget = o->log_budget ? o->log_budget : LOG_BUDGET;
	d->max_nodes = d->budget / NODE_BYTES + 16;
	d->max_work = d->budget / WORK_BYTES;
	d->idg.done = component_done;
	d->idg.arg = d;
	d->logging = !o->suspects_out;
	if (o->suspects_in || o->suspects_out)
		d->filter = filter_new(o->suspects_in, o->suspects_out);
	precise_init(&d->precise);
	return d;
}

static void table_free(struct table_of *t)
{
	mem_free(t->state);
	mem_free(t->logged);
	*t = (struct table_of){0};
}

/* Free the state of the imprecise pass. */
static void drop_state(struct doublechecker *d)
{
	idg_free(&d->idg);
	table_free(&d->var);
	table_free(&d->lock);
	mem_free(d->thread);
	mem_free(d->active);
	mem_free(d->src);
	d->thread = NULL;
	d->active = d->src = NULL;
	d->thread_cap = d->nthreads = d->nactive = d->active_cap = d->src_cap = 0;
}

static void set_last(struct doublechecker *d, uint32_t thread, uint32_t node)
{
	struct thread *t = &d->thread[thread];

	t->last = idg_ref_to(&d->idg, node);
	if (!t->listed) {
		MEM_GROW(d->active, d->active_cap, d->nactive + 1);
		d->active[d->nactive++] = thread;
		t->listed = true;
	}
}

/* Pool the ended nodes, and update the references to them. */
static void pool_nodes(struct doublechecker *d)
{
	struct idg *g = &d->idg;
	uint32_t to;

	if (d->options.suspects_out) {
		/* Later they cannot be distinguished. */
		for (size_t i = 0; i < g->nnodes; i++) {
			const struct idg_node *n = &g->node[i];

			if (n->alive && !n->open && n->outside)
				d->options.suspects_out->outside = true;
			else if (n->alive && !n->open)
				filter_suspect(d->filter, n->label);
		}
	}
	g->work = 0;
	d->max_work = d->budget / WORK_BYTES;
	to = idg_pool(g);
	if (to == IDG_NONE)
		return;
	d->n.pooled += g->node[to].size;
	d->last_share = idg_moved(g, d->last_share);
	for (size_t i = 0; i < d->nthreads; i++) {
		struct thread *t = &d->thread[i];

		t->last = idg_moved(g, t->last);
		t->last_rdex = idg_moved(g, t->last_rdex);
		t->birth = idg_moved(g, t->birth);
	}
	idg_pool_end(g, to);
}

static void add_source(struct doublechecker *d, idg_ref ref)
{
	uint32_t n = idg_at(&d->idg, ref);

	if (n == IDG_NONE)
		return;
	MEM_GROW(d->src, d->src_cap, d->nsrc + 1);
	d->src[d->nsrc++] = n;
}

static void add_all_sources(struct doublechecker *d, uint32_t thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nactive; i++) {
		uint32_t other = d->active[i];

		if (idg_at(&d->idg, d->thread[other].last) == IDG_NONE) {
			d->thread[other].listed = false;
			continue;
		}
		d->active[kept++] = other;
		if (other != thread)
			add_source(d, d->thread[other].last);
	}
	d->nactive = kept;
}

/*
 * Take an operation outside blocks, with edges from d->src. It joins the node of those
 * before it if they have the same incoming edges, or if no edge leaves them yet.
 */
static void edges_outside(struct doublechecker *d, uint32_t thread)
{
	struct idg *g = &d->idg;
	struct thread *t = &d->thread[thread];
	uint32_t last = idg_at(g, t->last), node = last;
	bool joins = last != IDG_NONE && g->node[last].outside && g->node[last].size == 1 &&
		     g->node[last].of == last;
	bool fresh = false;

	for (size_t i = 0; i < d->nsrc; i++)
		fresh |= !joins || !idg_has_edge(g, d->src[i], last);
	if (!fresh)
		return;
	if (!joins || g->node[last].out) {
		node = idg_new(g, thread, d->event, true);
		if (last != IDG_NONE)
			idg_add(g, last, node);
		set_last(d, thread, node);
	}
	t->stamp = ++d->stamp;
	for (size_t i = 0; i < d->nsrc; i++)
		idg_add(g, d->src[i], node);
}

static void add_edges(struct doublechecker *d, uint32_t thread)
{
	uint32_t node;

	if (!d->nsrc)
		return;
	if (!d->thread[thread].open) {
		edges_outside(d, thread);
		return;
	}
	node = idg_at(&d->idg, d->thread[thread].last);
	for (size_t i = 0; i < d->nsrc; i++)
		idg_add(&d->idg, d->src[i], node);
}

/* Too much memory or work: drop logs first, then pool nodes. */
__attribute__((noinline)) static void save_memory(struct doublechecker *d)
{
	if (d->idg.log_bytes > d->budget) {
		d->n.dropped += idg_drop_logs(&d->idg, false);
		if (d->idg.log_bytes > d->budget / 2)
			d->n.dropped += idg_drop_logs(&d->idg, true);
	}
	if (d->idg.alive > d->max_nodes || d->idg.work > d->max_work)
		pool_nodes(d);
}

static void add_to_log(struct doublechecker *d, uint32_t node, uint8_t op, uint32_t operand)
{
	if (!d->logging || d->idg.node[d->idg.node[node].of].lost)
		return;
	d->n.logged++;
	if (!idg_log(&d->idg, node, d->event, op, operand))
		d->n.dropped++;
}

/*
 * Returns the node of what the thread does now; after a block has ended, a new one.
 * IDG_NONE: no open node reaches the thread.
 */
static uint32_t node_now(struct doublechecker *d, uint32_t thread)
{
	uint32_t last = idg_at(&d->idg, d->thread[thread].last), node;

	if (last == IDG_NONE || d->thread[thread].open || d->idg.node[last].outside)
		return last;
	node = idg_new(&d->idg, thread, d->event, true);
	idg_add(&d->idg, last, node);
	set_last(d, thread, node);
	return node;
}

/* Log a fork, a join, or the begin of a thread. */
static void log_other(struct doublechecker *d, uint32_t thread, uint8_t op, uint32_t operand)
{
	uint32_t node = node_now(d, thread);

	if (node != IDG_NONE)
		add_to_log(d, node, op, operand);
}

/*
 * Can a repeat be left out without any effect? Yes, if nothing has come after its
 * transaction, so that neither the first of its kind nor this one closes a cycle, and
 * if what the precise check keeps of the variable is the same.
 */
static bool repeat_is_needless(const struct idg_node *node, const struct logged *had, uint8_t op)
{
	bool has_read = had->mask & HAS_READ;

	if (!node->open || node->out)
		return false;
	return uses[op].is == HAS_READ ? has_read : !uses[op].write || !has_read;
}

static void log_access(struct doublechecker *d, const struct event *e, struct logged *had,
		       icd_state before, bool quiet)
{
	struct thread *t = &d->thread[e->thread];
	uint32_t node = node_now(d, e->thread);

	d->n.inside += t->open;
	d->n.outside += !t->open;
	if (node == IDG_NONE)
		return; /* no open node reaches it, nor ever will */
	d->idg.node[d->idg.node[node].of].accesses++;
	if (quiet && had->stamp == t->stamp && (had->mask & uses[e->op].covered_by) &&
	    !d->options.log_repeats) {
		d->idg.node[node].elided |= !repeat_is_needless(&d->idg.node[node], had, e->op);
		return;
	}
	if (!t->open && before != icd_pack(ICD_WREX, e->thread))
		t->stamp = ++d->stamp;
	if (had->stamp != t->stamp)
		had->mask = 0;
	had->stamp = t->stamp;
	if (uses[e->op].write)
		had->mask &= ~(uint32_t)HAS_READ; /* a write replaces the reads before it */
	had->mask |= uses[e->op].is;
	add_to_log(d, node, e->op, e->operand);
}

static void change_state(struct doublechecker *d, const struct event *e, icd_state *state)
{
	struct thread *t = &d->thread[e->thread];
	struct icd_move m = icd_move(*state, e->thread, uses[e->op].write, &d->count);

	d->nsrc = 0;
	switch (m.change) {
	case ICD_FIRST:
	case ICD_UPGRADE:
		break;
	case ICD_SHARE:
		add_source(d, d->thread[m.other].last_rdex);
		add_source(d, d->last_share);
		break;
	case ICD_FENCE:
		add_source(d, d->last_share);
		break;
	case ICD_CONFLICT:
		add_source(d, d->thread[m.other].last);
		break;
	case ICD_CONFLICT_ALL:
		add_all_sources(d, e->thread);
		break;
	}
	*state = m.state;
	add_edges(d, e->thread);
	if (m.change == ICD_SHARE)
		d->last_share = t->last;
	if (m.change == ICD_SHARE || m.change == ICD_FENCE)
		t->seen = d->count;
	if (m.change == ICD_CONFLICT && icd_kind_of(m.state) == ICD_RDEX)
		t->last_rdex = t->last;
}

static void take_access(struct doublechecker *d, const struct event *e, struct table_of *of)
{
	uint32_t width = d->options.icd_block ? (uint32_t)d->options.icd_block : 1;
	icd_state *state = &of->state[e->operand / width], before = *state;
	bool quiet = icd_quiet(before, e->thread, d->thread[e->thread].seen, uses[e->op].write);

	if (!quiet)
		change_state(d, e, state);
	log_access(d, e, &of->logged[e->operand], before, quiet);
}

static void begin_block(struct doublechecker *d, const struct event *e)
{
	struct thread *t = &d->thread[e->thread];
	uint32_t last = idg_at(&d->idg, t->last);
	uint32_t node = idg_new(&d->idg, e->thread, d->event, false);

	if (last != IDG_NONE)
		idg_add(&d->idg, last, node);
	d->idg.node[node].label = d->options.suspects_out ? event_label(e) : 0;
	set_last(d, e->thread, node);
	t->open = true;
	t->stamp = ++d->stamp;
	d->n.blocks++;
}

static void end_block(struct doublechecker *d, uint32_t thread)
{
	struct thread *t = &d->thread[thread];

	t->open = false;
	t->stamp = ++d->stamp;
	idg_end(&d->idg, idg_at(&d->idg, t->last), d->event);
}

static void take_join(struct doublechecker *d, const struct event *e)
{
	struct thread *child = &d->thread[e->operand];

	d->nsrc = 0;
	if (child->ran)
		add_source(d, child->last);
	add_edges(d, e->thread);
	log_other(d, e->thread, OP_JOIN, e->operand);
	/* A block that it left open gets no more edges. */
	if (child->open)
		end_block(d, e->operand);
}

static void take_one(struct doublechecker *d, const struct event *e)
{
	struct thread *t = &d->thread[e->thread];

	if (e->op == OP_NONE)
		return;
	if (!t->ran) {
		t->ran = true;
		d->nsrc = 0;
		add_source(d, t->birth);
		add_edges(d, e->thread);
		log_other(d, e->thread, OP_NONE, e->thread);
	}
	if (op_is_access(e->op))
		take_access(d, e, &d->var);
	else if (op_is_lock(e->op))
		take_access(d, e, &d->lock);
	else if (e->outer == OUTER_BEGIN)
		begin_block(d, e);
	else if (e->outer == OUTER_END)
		end_block(d, e->thread);
	else if (e->op == OP_FORK) {
		log_other(d, e->thread, OP_FORK, e->operand);
		d->thread[e->operand].birth = t->last;
	} else if (e->op == OP_JOIN) {
		take_join(d, e);
	}
	d->max_work += WORK;
	if (d->idg.log_bytes > d->budget || d->idg.alive > d->max_nodes ||
	    d->idg.work > d->max_work)
		save_memory(d);
}

static void grow_table(struct table_of *t, size_t n)
{
	MEM_GROW0(t->state, t->state_cap, n);
	MEM_GROW0(t->logged, t->logged_cap, n);
}

static void take_imprecise(struct doublechecker *d, const struct batch *b)
{
	const struct table *names = b->names->table;
	bool large = names[NAMES_VAR].n >= EFFECT_LARGE_TABLE;

	grow_table(&d->var, names[NAMES_VAR].n);
	grow_table(&d->lock, names[NAMES_LOCK].n);
	MEM_GROW0(d->thread, d->thread_cap, names[NAMES_THREAD].n);
	d->nthreads = names[NAMES_THREAD].n;
	d->nvars = names[NAMES_VAR].n;
	d->nlocks = names[NAMES_LOCK].n;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct event *ahead = effect_ahead(&b->ev[i], b->ev + b->n);

		if (large && op_is_access(ahead->op)) {
			__builtin_prefetch(&d->var.state[ahead->operand], 1);
			__builtin_prefetch(&d->var.logged[ahead->operand], 1);
		}
		d->event = b->first + i;
		take_one(d, &b->ev[i]);
	}
}

static void doublechecker_take(void *engine, const struct batch *b)
{
	struct doublechecker *d = engine;
	struct batch part = *b;

	/* The locks held depend on all events. */
	if (d->filter && d->pass != TELL)
		part.ev = filter_take(d->filter, b);
	switch (d->pass) {
	case IMPRECISE:
		take_imprecise(d, &part);
		break;
	case PRECISE:
		precise_take(&d->precise, &part);
		break;
	case EXPLAIN:
	case TELL:
		explain_take(d->explain, &part);
		break;
	}
}

static int by_event(const void *a, const void *b)
{
	const struct closing *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

static uint64_t doublechecker_finish(void *engine)
{
	struct doublechecker *d = engine;
	struct closings *c = &d->precise.closings;
	uint64_t last = d->event;

	if (d->filter)
		filter_rewind(d->filter);
	if (d->explain) {
		d->pass = TELL;
		return explain_finish(d->explain);
	}
	if (d->pass == IMPRECISE) {
		d->event++;
		for (size_t i = 0; i < d->nthreads; i++)
			if (d->thread[i].open)
				end_block(d, (uint32_t)i);
		drop_state(d);
		precise_free(&d->precise);
		if (d->again) {
			d->pass = PRECISE;
			c->n = 0;
			order_init(&d->precise.order, false);
			return last;
		}
	}
	precise_free(&d->precise);
	if (!c->n)
		return 0;
	/* Components are checked when they are complete, not in the trace's order. */
	qsort(c->v, c->n, sizeof *c->v, by_event);
	d->pass = EXPLAIN;
	d->explain = explain_new(c, NULL, d->sink);
	return c->v[c->n - 1].event;
}

static size_t doublechecker_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct doublechecker *d = engine;
	const struct engine_stat v[] = {
		{"closing_events", d->precise.closings.n},
		{"transactions", d->n.blocks},
		{"accesses_in_blocks", d->n.inside},
		{"accesses_outside", d->n.outside},
		{"idg_edges", d->idg.edges},
		{"components", d->n.components},
		{"transactions_passed_on", d->n.blocks_passed},
		{"accesses_passed_on", d->n.accesses_passed},
		{"accesses_logged", d->n.logged},
		{"nodes_max_alive", d->idg.max_alive},
		{"logs_dropped", d->n.dropped},
		{"nodes_pooled", d->n.pooled},
		{"transactions_given_to_frontier", d->n.given},
	};

	memcpy(stats, v, sizeof v);
	return sizeof v / sizeof v[0];
}

static void doublechecker_destroy(void *engine)
{
	struct doublechecker *d = engine;

	drop_state(d);
	precise_free(&d->precise);
	explain_free(d->explain);
	filter_free(d->filter);
	mem_free(d->precise.closings.v);
	mem_free(d);
}

const struct opt doublechecker_opts[] = {
	OPT_STR(0, "first-run", "FILE", OPT_FIELD(struct doublechecker_options, first_run),
		"doublechecker: find nothing, add the suspected blocks to FILE"),
	OPT_STR(0, "second-run", "FILE", OPT_FIELD(struct doublechecker_options, second_run),
		"doublechecker: check only the blocks that FILE suspects"),
	OPT_U64(0, "icd-block", "N", OPT_FIELD(struct doublechecker_options, icd_block),
		"doublechecker: N variables have one owner (1)"),
	OPT_U64(0, "log-budget", "BYTES", OPT_FIELD(struct doublechecker_options, log_budget),
		"doublechecker: memory for logs (67m)"),
	OPT_END,
};

const struct engine_ops engine_doublechecker = {
	.name = "doublechecker",
	.origin = "PLDI 2014",
	.finding = "this very run is not serializable; the finding shows the cycle",
	.silence = "this run is serializable",
	.noun = "atomicity violation",
	.second_pass = true,
	.opts = doublechecker_opts,
	.defaults = &(const struct doublechecker_options){0},
	.create = doublechecker_create,
	.take = doublechecker_take,
	.finish = doublechecker_finish,
	.stats = doublechecker_stats,
	.destroy = doublechecker_destroy,
};
