/*
 * Which transactions have two separate nodes that other transactions connect.
 *
 * A shortest cycle that cuts a transaction t visits every other slot at most once, and
 * forwards in the order of that slot; and none of its other segments must come before
 * or after t (docs/engines/commit-conflict.md has the proof). So there are two cases:
 *
 *  - Both nodes meet the same slot. Then the first access that the one meets there must
 *    not come after the last that the other meets.
 *  - They meet two slots, and a path leads from the one to the other that avoids the
 *    slot of t.
 *
 * For the second case a graph of spans is enough: a span is a sequence of phases of a
 * slot such that some phase can be concurrent with each and the next. Which spans are
 * connected when one slot is left out, for each slot in turn, is found by halving: all
 * edges that have no end in the left half are added, then the left half is halved; so
 * is the right. A forest of sets that can be undone (union by size, no path
 * compression) makes that O(edges * log(slots) * log(spans)).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/commit/commit.h"

#include "base/banned.h"

struct edge {
	uint32_t a, b; /* spans */
	struct commit_hop hop;
};

/* A node of the transaction, as an interval of its operations, and what it meets. */
struct node {
	uint32_t lo, hi, op;
	uint32_t span;
	struct commit_meeting met;
};

struct nodes {
	struct node *v;
	size_t n, cap;
};

/* For a component: a node that meets it, and a node that meets it in another slot. */
struct reached {
	uint32_t stamp;
	uint32_t one, two; /* indices of nodes; two may be NONE */
};
enum { NONE = UINT32_MAX };

struct cycle {
	struct commit_meet *m;
	struct commit_counts *counts;
	void (*found)(void *arg, const struct commit_found *f);
	void *arg;
	uint32_t *span;    /* of a phase */
	uint32_t *slot_of; /* of a span */
	uint32_t nspans;
	struct edge *edge;
	size_t nedges, edge_cap;
	uint32_t *hash; /* of edges: 1 + index */
	size_t nhash;
	size_t *next_to; /* of a span: edges next[next_to[s]] .. next[next_to[s + 1]] */
	uint32_t *next;
	uint32_t *set, *size; /* the forest of sets */
	uint32_t *undo;
	size_t nundo;
	uint32_t *segment, *segment_of; /* transactions by slot: segment[segment_of[s]] .. */
	struct commit_meetings met;
	struct nodes first, last;
	struct reached *reached;
	/* By slot: the node that meets the earliest there; before that, a sum that writes. */
	uint32_t *best, *best_stamp;
	uint32_t *writer; /* slots */
	uint32_t stamp;
	uint32_t *came; /* by span, in the search for a path: 1 + the edge */
	uint32_t *queue;
};

/* ---- spans ---- */

static uint32_t clock_at(const struct segment_phase *p, uint32_t slot)
{
	return slot < p->clock.n ? p->clock.at[slot] : 0;
}

/* Of two phases one must come before the other: can a third be concurrent with both? */
static bool have_witness(const struct commit_meet *m, const struct segment_phase *p,
			 const struct segment_phase *q)
{
	for (uint32_t s = 0; s < m->nslots; s++) {
		uint32_t r;

		if (s == p->at.slot || s == q->at.slot)
			continue;
		r = commit_meet_after(m, s, clock_at(q, s));
		if (r < m->in_slot[s + 1] &&
		    !phase_before(p->at, &m->segments->phase[m->by_rank[r]].clock))
			return true;
	}
	return false;
}

static void cut_spans(struct cycle *c)
{
	const struct commit_meet *m = c->m;
	const struct segments *u = m->segments;

	c->span = mem_alloc((u->nphases + 1) * sizeof *c->span);
	c->slot_of = mem_alloc((u->nphases + 1) * sizeof *c->slot_of);
	for (uint32_t s = 0; s < m->nslots; s++) {
		for (uint32_t r = m->in_slot[s]; r < m->in_slot[s + 1]; r++) {
			if (r == m->in_slot[s] || !have_witness(m, &u->phase[m->by_rank[r - 1]],
								&u->phase[m->by_rank[r]]))
				c->slot_of[c->nspans++] = s;
			c->span[m->by_rank[r]] = c->nspans - 1;
		}
	}
}

static size_t edge_hash(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 29;
}

static void grow_hash(struct cycle *c)
{
	mem_free(c->hash);
	c->nhash = c->nhash ? 2 * c->nhash : 1024;
	c->hash = mem_zalloc(c->nhash * sizeof *c->hash);
	for (size_t e = 0; e < c->nedges; e++) {
		size_t i = edge_hash(c->edge[e].a, c->edge[e].b) & (c->nhash - 1);

		while (c->hash[i])
			i = (i + 1) & (c->nhash - 1);
		c->hash[i] = (uint32_t)e + 1;
	}
}

/* Add an edge. Returns NULL if it exists already, in either direction. */
static struct edge *add_edge(struct cycle *c, uint32_t a, uint32_t b)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;
	size_t i;

	if (2 * (c->nedges + 1) > c->nhash)
		grow_hash(c);
	for (i = edge_hash(low, high) & (c->nhash - 1); c->hash[i]; i = (i + 1) & (c->nhash - 1)) {
		const struct edge *e = &c->edge[c->hash[i] - 1];

		if (e->a == low && e->b == high)
			return NULL;
	}
	c->hash[i] = (uint32_t)c->nedges + 1;
	MEM_GROW(c->edge, c->edge_cap, c->nedges + 1);
	c->edge[c->nedges] = (struct edge){.a = low, .b = high};
	return &c->edge[c->nedges++];
}

/* Returns the number of pairs of spans in different slots. */
static size_t edges_at_most(const struct cycle *c)
{
	size_t n = (size_t)c->nspans * (c->nspans - 1) / 2, run = 0;

	for (uint32_t s = 0; s < c->nspans; s++) {
		run = s && c->slot_of[s] == c->slot_of[s - 1] ? run + 1 : 0;
		n -= run;
	}
	return n;
}

static void add_met(struct cycle *c, uint32_t mine, struct commit_op at, uint32_t other,
		    struct commit_op met)
{
	struct edge *e = add_edge(c, mine, other);

	if (e)
		e->hop = mine == e->a ? (struct commit_hop){at, met, true}
				      : (struct commit_hop){met, at, true};
}

static void add_group(struct cycle *c, uint32_t var, const struct commit_group *g)
{
	for (size_t i = g->begin; i < g->end; i++) {
		const struct commit_sum *sum = &c->m->sum[i];

		commit_meet_find(c->m, var, g->sort, sum->phase, &c->met);
		for (size_t k = 0; k < c->met.n; k++)
			add_met(c, c->span[sum->phase], sum->first, c->span[c->met.v[k].phase],
				c->met.v[k].at_min);
	}
}

/*
 * Add the edges of a variable whose phases are all concurrent: two writes meet, in
 * some nodes. So do a write and a read; but in the view-forest that has to be computed.
 */
static void add_plain(struct cycle *c, uint32_t var)
{
	const struct commit_meet *m = c->m;
	enum commit_kind kind = m->view ? COMMIT_FINAL : COMMIT_WRITE;
	uint32_t writers = 0;

	c->stamp++;
	for (size_t g = m->by_var[var]; g < m->by_var[var + 1]; g++) {
		uint32_t slot = m->group[g].slot;

		if (m->sorts.sort[m->group[g].sort].kind != kind || c->best_stamp[slot] == c->stamp)
			continue;
		c->best_stamp[slot] = c->stamp;
		c->best[slot] = (uint32_t)m->group[g].begin;
		c->writer[writers++] = slot;
	}
	for (uint32_t i = 0; i < writers; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct commit_sum *a = &m->sum[c->best[c->writer[i]]];
			const struct commit_sum *b = &m->sum[c->best[c->writer[k]]];

			add_met(c, c->span[a->phase], a->first, c->span[b->phase], b->first);
		}
	for (size_t g = m->by_var[var]; g < m->by_var[var + 1]; g++) {
		const struct commit_sum *a = &m->sum[m->group[g].begin];

		if (c->best_stamp[m->group[g].slot] == c->stamp)
			continue;
		if (m->view) {
			add_group(c, var, &m->group[g]);
			continue;
		}
		for (uint32_t i = 0; i < writers; i++) {
			const struct commit_sum *b = &m->sum[c->best[c->writer[i]]];

			add_met(c, c->span[a->phase], a->first, c->span[b->phase], b->first);
		}
	}
}

/* Add an edge for each two accesses that meet, until all possible edges exist. */
static void add_meetings(struct cycle *c)
{
	const struct commit_meet *m = c->m;
	size_t most = edges_at_most(c);

	for (uint32_t x = 0; x < m->segments->contention.nlives && c->nedges < most; x++) {
		if (m->table.var[x].plain) {
			add_plain(c, x);
			continue;
		}
		for (size_t g = m->by_var[x]; g < m->by_var[x + 1]; g++)
			add_group(c, x, &m->group[g]);
	}
}

/* Add the edges by the order of phases in different slots: the last one of each is enough. */
static void add_orders(struct cycle *c)
{
	const struct commit_meet *m = c->m;
	const struct segments *u = m->segments;

	for (uint32_t p = 0; p < u->nphases; p++) {
		const struct segment_phase *q = &u->phase[p];

		for (uint32_t s = 0; s < m->nslots && s < q->clock.n; s++) {
			uint32_t r;

			if (s == q->at.slot || !q->clock.at[s])
				continue;
			r = commit_meet_after(m, s, q->clock.at[s]);
			if (r > m->in_slot[s] && have_witness(m, &u->phase[m->by_rank[r - 1]], q))
				add_edge(c, c->span[m->by_rank[r - 1]], c->span[p]);
		}
	}
}

static void index_edges(struct cycle *c)
{
	size_t *fill;

	c->next_to = mem_zalloc((c->nspans + 2) * sizeof *c->next_to);
	c->next = mem_alloc((2 * c->nedges + 1) * sizeof *c->next);
	for (size_t e = 0; e < c->nedges; e++) {
		c->next_to[c->edge[e].a + 1]++;
		c->next_to[c->edge[e].b + 1]++;
	}
	for (uint32_t s = 0; s < c->nspans; s++)
		c->next_to[s + 1] += c->next_to[s];
	fill = mem_alloc((c->nspans + 1) * sizeof *fill);
	memcpy(fill, c->next_to, (c->nspans + 1) * sizeof *fill);
	for (size_t e = 0; e < c->nedges; e++) {
		c->next[fill[c->edge[e].a]++] = (uint32_t)e;
		c->next[fill[c->edge[e].b]++] = (uint32_t)e;
	}
	mem_free(fill);
}

/* Find a path between two spans that avoids a slot. There is one. */
static void find_path(struct cycle *c, uint32_t from, uint32_t to, uint32_t without,
		      struct commit_found *out)
{
	size_t head = 0, tail = 0;

	memset(c->came, 0, c->nspans * sizeof *c->came);
	c->queue[tail++] = from;
	c->came[from] = NONE;
	while (head < tail && !c->came[to]) {
		uint32_t s = c->queue[head++];

		for (size_t i = c->next_to[s]; i < c->next_to[s + 1]; i++) {
			const struct edge *e = &c->edge[c->next[i]];
			uint32_t other = e->a == s ? e->b : e->a;

			if (c->came[other] || c->slot_of[other] == without)
				continue;
			c->came[other] = c->next[i] + 1;
			c->queue[tail++] = other;
		}
	}
	out->nhops = 0;
	for (uint32_t s = to; s != from; out->nhops++)
		s = c->edge[c->came[s] - 1].a == s ? c->edge[c->came[s] - 1].b
						   : c->edge[c->came[s] - 1].a;
	out->hop = mem_alloc((out->nhops + 1) * sizeof *out->hop);
	for (size_t i = out->nhops; i-- > 0;) {
		const struct edge *e = &c->edge[c->came[to] - 1];

		out->hop[i] = e->b == to ? e->hop
					 : (struct commit_hop){e->hop.to, e->hop.from, e->hop.met};
		to = e->b == to ? e->a : e->b;
	}
}

/* ---- sets that can be undone ---- */

static uint32_t set_of(const struct cycle *c, uint32_t s)
{
	while (c->set[s] != s)
		s = c->set[s];
	return s;
}

static void unite_sets(struct cycle *c, uint32_t a, uint32_t b)
{
	a = set_of(c, a);
	b = set_of(c, b);
	if (a == b)
		return;
	if (c->size[a] < c->size[b]) {
		uint32_t swap = a;

		a = b;
		b = swap;
	}
	c->set[b] = a;
	c->size[a] += c->size[b];
	c->undo[c->nundo++] = b;
}

static void undo_to(struct cycle *c, size_t mark)
{
	while (c->nundo > mark) {
		uint32_t b = c->undo[--c->nundo];

		c->size[c->set[b]] -= c->size[b];
		c->set[b] = b;
	}
}

/* ---- a transaction ---- */

static int by_hi(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->hi != y->hi ? (x->hi > y->hi) - (x->hi < y->hi)
			      : (x->op > y->op) - (x->op < y->op);
}

static int by_lo(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->lo != y->lo ? (x->lo > y->lo) - (x->lo < y->lo)
			      : (x->op > y->op) - (x->op < y->op);
}

/* Returns the interval of the node at that depth around an access. */
static struct commit_block node_at(const struct commit_leaves *l, struct commit_at at,
				   uint32_t depth)
{
	if (!depth)
		return (struct commit_block){at.op, at.op};
	return l->block[l->chain[at.blocks + depth - 1]];
}

/* May there be more than one commit node: two separate nodes that may meet an access? */
static bool may_be_apart(struct cycle *c, const struct segment *t)
{
	const struct commit_leaves *l = &c->m->leaves;
	uint32_t hi = UINT32_MAX, lo = 0;

	for (size_t k = 0; k < l->n; k++) {
		const struct commit_leaf *leaf = &l->v[k];
		uint64_t depths =
			commit_meet_depths(c->m, leaf->var, leaf->sort, t->phase, &c->met);

		if (depths >> 63)
			return true;
		for (; depths; depths &= depths - 1) {
			uint32_t depth = (uint32_t)__builtin_ctzll(depths);
			struct commit_block first = node_at(l, leaf->first, depth);
			struct commit_block last = node_at(l, leaf->last, depth);

			hi = first.end < hi ? first.end : hi;
			lo = last.start > lo ? last.start : lo;
		}
	}
	return hi < lo;
}

static void add_node(struct cycle *c, struct nodes *to, struct commit_at at,
		     const struct commit_meeting *met)
{
	struct commit_block b = node_at(&c->m->leaves, at, met->depth);

	MEM_GROW(to->v, to->cap, to->n + 1);
	to->v[to->n++] = (struct node){b.start, b.end, at.op, c->span[met->phase], *met};
}

/* Find its nodes that meet an access. Returns whether two of them are separate. */
static bool find_nodes(struct cycle *c, uint32_t i)
{
	const struct segment *t = &c->m->segments->segment[i];
	const struct commit_leaves *l = &c->m->leaves;
	uint32_t hi = UINT32_MAX, lo = 0;

	c->first.n = c->last.n = 0;
	commit_leaves_of(&c->m->leaves, &c->m->sorts, c->m->segments, t, c->m->view);
	if (!may_be_apart(c, t))
		return false;
	for (size_t k = 0; k < l->n; k++) {
		commit_meet_find(c->m, l->v[k].var, l->v[k].sort, t->phase, &c->met);
		for (size_t j = 0; j < c->met.n; j++) {
			add_node(c, &c->first, l->v[k].first, &c->met.v[j]);
			add_node(c, &c->last, l->v[k].last, &c->met.v[j]);
			if (c->first.v[c->first.n - 1].hi < hi)
				hi = c->first.v[c->first.n - 1].hi;
			if (c->last.v[c->last.n - 1].lo > lo)
				lo = c->last.v[c->last.n - 1].lo;
		}
	}
	return hi < lo;
}

/* Report the two nodes. If one other segment can be at both ends, it is. */
static void report_nodes(struct cycle *c, uint32_t segment, const struct node *a,
			 const struct node *b)
{
	struct commit_found f = {.segment = segment,
				 .a = {a->op, a->met.at_min, a->span},
				 .b = {b->op, b->met.at_max, b->span}};

	if (a->met.slot == b->met.slot) {
		if (a->met.at_min.segment == b->met.at_min.segment &&
		    a->met.at_min.op <= b->met.at_min.op)
			f.b.other = b->met.at_min;
		else if (a->met.at_max.segment == b->met.at_max.segment &&
			 a->met.at_max.op <= b->met.at_max.op)
			f.a.other = a->met.at_max;
	} else {
		find_path(c, a->span, b->span,
			  c->m->segments->phase[c->m->segments->segment[segment].phase].at.slot,
			  &f);
	}
	c->counts->found++;
	c->found(c->arg, &f);
	mem_free(f.hop);
}

/* Take a node that ends before the nodes to come begin. */
static void pass_node(struct cycle *c, uint32_t i)
{
	const struct node *a = &c->first.v[i];
	uint32_t slot = a->met.slot;
	struct reached *r;

	if (c->best_stamp[slot] != c->stamp || a->met.min < c->first.v[c->best[slot]].met.min) {
		c->best_stamp[slot] = c->stamp;
		c->best[slot] = i;
	}
	r = &c->reached[set_of(c, a->span)];
	if (r->stamp != c->stamp)
		*r = (struct reached){c->stamp, i, NONE};
	else if (r->two == NONE && c->first.v[r->one].met.slot != slot)
		r->two = i;
}

static void check_transaction(struct cycle *c, uint32_t segment)
{
	size_t passed = 0, far_b = 0;
	uint32_t far_a = NONE;

	c->counts->transactions++;
	if (!find_nodes(c, segment))
		return;
	c->counts->several_nodes++;
	c->stamp++; /* does not wrap to 0: there are fewer segments */
	qsort(c->first.v, c->first.n, sizeof *c->first.v, by_hi);
	qsort(c->last.v, c->last.n, sizeof *c->last.v, by_lo);
	for (size_t i = 0; i < c->last.n; i++) {
		const struct node *b = &c->last.v[i];
		uint32_t slot = b->met.slot;
		const struct reached *r = &c->reached[set_of(c, b->span)];

		while (passed < c->first.n && c->first.v[passed].hi < b->lo)
			pass_node(c, (uint32_t)passed++);
		if (c->best_stamp[slot] == c->stamp &&
		    c->first.v[c->best[slot]].met.min <= b->met.max) {
			report_nodes(c, segment, &c->first.v[c->best[slot]], b);
			return;
		}
		if (far_a != NONE || r->stamp != c->stamp)
			continue;
		if (c->first.v[r->one].met.slot != slot)
			far_a = r->one;
		else
			far_a = r->two;
		far_b = i;
	}
	if (far_a != NONE)
		report_nodes(c, segment, &c->first.v[far_a], &c->last.v[far_b]);
}

/* ---- all of them, slot by slot ---- */

static bool ends_in(const struct cycle *c, const struct edge *e, uint32_t lo, uint32_t hi)
{
	uint32_t a = c->slot_of[e->a], b = c->slot_of[e->b];

	return (a >= lo && a < hi) || (b >= lo && b < hi);
}

/*
 * Judge slots [lo, hi): edges v[0 .. n) have an end there, all others are in the sets
 * already.
 */
static void judge_slots(struct cycle *c, uint32_t lo, uint32_t hi, const uint32_t *v, size_t n)
{
	uint32_t mid = lo + (hi - lo) / 2;
	uint32_t *part;

	if (hi - lo == 1) {
		for (uint32_t i = c->segment_of[lo]; i < c->segment_of[hi]; i++)
			check_transaction(c, c->segment[i]);
		return;
	}
	part = mem_alloc((n + 1) * sizeof *part);
	for (int half = 0; half < 2; half++) {
		uint32_t from = half ? mid : lo, to = half ? hi : mid;
		size_t mark = c->nundo, kept = 0;

		for (size_t i = 0; i < n; i++) {
			const struct edge *e = &c->edge[v[i]];

			if (ends_in(c, e, from, to))
				part[kept++] = v[i];
			else
				unite_sets(c, e->a, e->b);
		}
		judge_slots(c, from, to, part, kept);
		undo_to(c, mark);
	}
	mem_free(part);
}

static void group_segments(struct cycle *c)
{
	const struct segments *u = c->m->segments;
	uint32_t *fill;

	c->segment = mem_alloc((u->n + 1) * sizeof *c->segment);
	c->segment_of = mem_zalloc((c->m->nslots + 1) * sizeof *c->segment_of);
	fill = mem_alloc((c->m->nslots + 1) * sizeof *fill);
	for (size_t i = 0; i < u->n; i++)
		if (u->segment[i].transaction)
			c->segment_of[u->phase[u->segment[i].phase].at.slot + 1]++;
	for (uint32_t s = 0; s < c->m->nslots; s++)
		c->segment_of[s + 1] += c->segment_of[s];
	memcpy(fill, c->segment_of, (c->m->nslots + 1) * sizeof *fill);
	for (size_t i = 0; i < u->n; i++)
		if (u->segment[i].transaction)
			c->segment[fill[u->phase[u->segment[i].phase].at.slot]++] = (uint32_t)i;
	mem_free(fill);
}

static void make_room(struct cycle *c)
{
	size_t n = c->nspans + 1;

	c->set = mem_alloc(n * sizeof *c->set);
	c->size = mem_alloc(n * sizeof *c->size);
	c->undo = mem_alloc(n * sizeof *c->undo);
	c->came = mem_alloc(n * sizeof *c->came);
	c->queue = mem_alloc(n * sizeof *c->queue);
	c->reached = mem_zalloc(n * sizeof *c->reached);
	for (uint32_t s = 0; s < c->nspans; s++) {
		c->set[s] = s;
		c->size[s] = 1;
	}
}

static void cycle_free(struct cycle *c)
{
	void *all[] = {c->span,       c->slot_of, c->edge,    c->hash,    c->next_to,
		       c->next,       c->set,     c->size,    c->undo,    c->came,
		       c->queue,      c->reached, c->best,    c->segment, c->segment_of,
		       c->best_stamp, c->met.v,   c->first.v, c->last.v,  c->writer};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		mem_free(all[i]);
}

void commit_cycle_find(struct commit_meet *m, struct commit_counts *counts,
		       void (*found)(void *arg, const struct commit_found *f), void *arg)
{
	struct cycle c = {.m = m, .counts = counts, .found = found, .arg = arg};
	uint32_t *all;

	c.best = mem_alloc((m->nslots + 1) * sizeof *c.best);
	c.best_stamp = mem_zalloc((m->nslots + 1) * sizeof *c.best_stamp);
	c.writer = mem_alloc((m->nslots + 1) * sizeof *c.writer);
	cut_spans(&c);
	/* With two slots, everything that one meets is in the other. */
	if (m->nslots > 2) {
		add_meetings(&c);
		add_orders(&c);
	}
	index_edges(&c);
	group_segments(&c);
	make_room(&c);
	all = mem_alloc((c.nedges + 1) * sizeof *all);
	for (size_t e = 0; e < c.nedges; e++)
		all[e] = (uint32_t)e;
	if (m->nslots)
		judge_slots(&c, 0, m->nslots, all, c.nedges);
	mem_free(all);
	cycle_free(&c);
}
