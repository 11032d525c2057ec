/*
 * The search for lock cycles, after the last event.
 *
 * The nodes of the graph are locks. There is an arc from lock a to lock b if a wish
 * holds a and wants b; the arc lists those wishes. A lock that is not in a strongly
 * connected component is on no cycle, and in a program with a lock order no lock is:
 * then the search ends in linear time.
 *
 * Otherwise lock sequences are walked, length by length, each from its smallest lock;
 * a sequence that cannot return to its start within the length is abandoned (the
 * distances to the start are known). With the sequence goes a choice of wishes, one
 * for each arc, that can all hold at the same time. The choice grows with the
 * sequence. If the next arc has no wish that fits, all choices are tried again from
 * the first arc on, and if none fits the sequence is abandoned. So a cycle of locks
 * is found once, however many threads take part in it in however many ways.
 */
#include "engine/lock/deadlock.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* A wish on an arc. The wishes of an arc are sorted by set, slot and phase. */
struct edge {
	uint32_t from, to; /* locks */
	heldset set;
	uint32_t slot, wish;
	bool exclusive; /* how it holds `from` */
};

struct arc {
	uint32_t from, to;
	uint32_t edge, nedges;
};

struct node {
	uint32_t arc, narcs;   /* arcs that leave it, inside its component, sorted by `to` */
	uint32_t back, nbacks; /* arcs that enter it, in `back` */
	uint32_t component;    /* 0: not known yet */
	uint32_t index, low;   /* Tarjan's */
	uint32_t distance;     /* to the start; valid if `stamp` is the search's */
	uint32_t stamp;
	bool on_path; /* or, while components are computed, on Tarjan's stack */
	bool done;    /* as a start: no longer cycle begins here */
};

struct search {
	const struct deadlock_wishes *w;
	struct edge *edge;
	size_t nedges;
	struct arc *arc;
	size_t arc_cap;
	uint32_t narcs;
	uint32_t *back; /* arcs, by their target */
	struct node *node;
	uint32_t nnodes;
	uint32_t *queue; /* room for each node */

	/* The sequence: lock[i] -> lock[i + 1] is path[i], chosen[i] an edge of it. */
	uint32_t *lock, *path, *chosen, *saved, *wish;
	uint32_t length; /* of the cycles that are currently searched */
	uint32_t longest;
	uint32_t stamp;
	bool deeper; /* a search for longer cycles could continue where this one stopped */
	uint32_t cycles;
	uint64_t steps;
	bool cut;
	void (*found)(void *arg, const struct deadlock_cycle *c);
	void *arg;
};

static bool spend_steps(struct search *s, uint64_t steps)
{
	s->steps += steps;
	s->cut |= s->steps > DEADLOCK_STEPS_MAX;
	return !s->cut;
}

static int by_arc(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return (x->wish > y->wish) - (x->wish < y->wish);
}

static void add_edges(struct search *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->w->n; i++)
		n += heldlocks_view(s->w->held, s->w->v[i].set).n;
	s->edge = mem_alloc(n * sizeof *s->edge);
	for (uint32_t i = 0; i < s->w->n; i++) {
		const struct deadlock_wish *wish = &s->w->v[i];
		struct heldset_view set = heldlocks_view(s->w->held, wish->set);

		for (uint32_t k = 0; k < set.n; k++) {
			struct edge e = {.from = held_lock(set.v[k]),
					 .to = held_lock(wish->want),
					 .set = wish->set,
					 .slot = wish->phase.slot,
					 .wish = i,
					 .exclusive = held_exclusive(set.v[k])};

			s->edge[s->nedges++] = e;
			s->nnodes = e.from >= s->nnodes ? e.from + 1 : s->nnodes;
			s->nnodes = e.to >= s->nnodes ? e.to + 1 : s->nnodes;
		}
	}
	qsort(s->edge, s->nedges, sizeof *s->edge, by_arc);
}

static void add_arcs(struct search *s)
{
	s->node = mem_zalloc(s->nnodes * sizeof *s->node);
	s->queue = mem_alloc(s->nnodes * sizeof *s->queue);
	for (size_t i = 0; i < s->nedges; i++) {
		const struct edge *e = &s->edge[i];

		if (!i || e[-1].from != e->from || e[-1].to != e->to) {
			MEM_GROW(s->arc, s->arc_cap, (size_t)s->narcs + 1);
			s->arc[s->narcs] = (struct arc){e->from, e->to, (uint32_t)i, 0};
			if (!s->node[e->from].narcs++)
				s->node[e->from].arc = s->narcs;
			s->narcs++;
		}
		s->arc[s->narcs - 1].nedges++;
	}
}

/*
 * Tarjan's components, without recursion: `at` is, for each node on the path from the
 * root, the next of its arcs.
 */
struct tarjan {
	uint32_t *stack, nstack;
	uint32_t *path, *at, npath;
	uint32_t index, components;
};

static void tarjan_enter(struct search *s, struct tarjan *t, uint32_t v)
{
	struct node *n = &s->node[v];

	n->index = n->low = ++t->index;
	n->on_path = true;
	t->stack[t->nstack++] = v;
	t->path[t->npath] = v;
	t->at[t->npath++] = 0;
}

static void tarjan_leave(struct search *s, struct tarjan *t)
{
	uint32_t v = t->path[--t->npath], u;
	struct node *n = &s->node[v];

	if (t->npath && n->low < s->node[t->path[t->npath - 1]].low)
		s->node[t->path[t->npath - 1]].low = n->low;
	if (n->low != n->index)
		return;
	t->components++;
	do {
		u = t->stack[--t->nstack];
		s->node[u].on_path = false;
		s->node[u].component = t->components;
	} while (u != v);
}

static void find_components(struct search *s)
{
	struct tarjan t = {.stack = mem_alloc(s->nnodes * sizeof *t.stack),
			   .path = mem_alloc(s->nnodes * sizeof *t.path),
			   .at = mem_alloc(s->nnodes * sizeof *t.at)};

	for (uint32_t root = 0; root < s->nnodes; root++) {
		if (s->node[root].index)
			continue;
		tarjan_enter(s, &t, root);
		while (t.npath) {
			struct node *n = &s->node[t.path[t.npath - 1]];
			struct node *to;
			uint32_t next;

			if (t.at[t.npath - 1] == n->narcs) {
				tarjan_leave(s, &t);
				continue;
			}
			next = s->arc[n->arc + t.at[t.npath - 1]++].to;
			to = &s->node[next];
			if (!to->index)
				tarjan_enter(s, &t, next);
			else if (to->on_path && to->index < n->low)
				n->low = to->index;
		}
	}
	mem_free(t.stack);
	mem_free(t.path);
	mem_free(t.at);
}

/* Keep only arcs inside a component, and list the arcs that enter each node. */
static void keep_cyclic(struct search *s)
{
	uint32_t kept = 0, at = 0;

	for (uint32_t v = 0; v < s->nnodes; v++)
		s->node[v].narcs = 0;
	for (uint32_t i = 0; i < s->narcs; i++) {
		struct arc a = s->arc[i];

		if (s->node[a.from].component != s->node[a.to].component)
			continue;
		if (!s->node[a.from].narcs++)
			s->node[a.from].arc = kept;
		s->node[a.to].nbacks++;
		s->arc[kept++] = a;
	}
	s->narcs = kept;
	s->back = mem_alloc(kept * sizeof *s->back);
	for (uint32_t v = 0; v < s->nnodes; v++) {
		s->node[v].back = at;
		at += s->node[v].nbacks;
		s->node[v].nbacks = 0;
	}
	for (uint32_t i = 0; i < kept; i++) {
		struct node *to = &s->node[s->arc[i].to];

		s->back[to->back + to->nbacks++] = i;
	}
}

/* No cycle has more locks than this: its wishes are concurrent, so their slots differ. */
static uint32_t count_slots(const struct deadlock_wishes *w)
{
	uint32_t nslots = 0, n = 0;
	bool *seen;

	for (uint32_t i = 0; i < w->n; i++)
		if (w->v[i].phase.slot >= nslots)
			nslots = w->v[i].phase.slot + 1;
	seen = mem_zalloc(nslots);
	for (uint32_t i = 0; i < w->n; i++) {
		n += !seen[w->v[i].phase.slot];
		seen[w->v[i].phase.slot] = true;
	}
	mem_free(seen);
	return n;
}

/* Can the two wishes hold at the same time? */
static bool hold_together(const struct search *s, const struct deadlock_wish *a,
			  const struct deadlock_wish *b)
{
	return !phase_before(a->phase, &s->w->clocks[b->clock]) &&
	       !phase_before(b->phase, &s->w->clocks[a->clock]) &&
	       !heldlocks_exclude(s->w->held, a->set, b->set);
}

/* Does the thread that holds the second's `from` exclude the first? */
static bool holder_excludes(const struct search *s, const struct edge *wants,
			    const struct edge *holds)
{
	return held_exclusive(s->w->v[wants->wish].want) || holds->exclusive;
}

/* Does the edge fit as number i of the choice and, if `closes` is set, close a cycle? */
static bool edge_fits(struct search *s, uint32_t i, uint32_t edge, bool closes)
{
	const struct edge *e = &s->edge[edge];

	if (!spend_steps(s, i + 1))
		return false;
	if (i && !holder_excludes(s, &s->edge[s->chosen[i - 1]], e))
		return false;
	if (closes && !holder_excludes(s, e, &s->edge[s->chosen[0]]))
		return false;
	for (uint32_t k = 0; k < i; k++)
		if (!hold_together(s, &s->w->v[e->wish], &s->w->v[s->edge[s->chosen[k]].wish]))
			return false;
	return true;
}

/* Returns the first edge in [from, end) of a later set, or a later slot or phase of this set. */
static uint32_t edge_after(const struct search *s, uint32_t from, uint32_t end, heldset set,
			   struct phase p)
{
	while (from < end) {
		uint32_t mid = from + (end - from) / 2;
		const struct edge *e = &s->edge[mid];
		bool later = e->set != set       ? e->set > set
			     : e->slot != p.slot ? e->slot > p.slot
						 : s->w->v[e->wish].phase.index > p.index;

		if (later)
			end = mid;
		else
			from = mid + 1;
	}
	return from;
}

/*
 * Returns the next edge in [from, end) that can hold at the same time as the wish. All
 * edges with a set that excludes the wish's are passed at once, so a gate lock costs
 * one comparison. The edges of a slot are sorted by phase; those that must come before
 * the wish are at one end, those that must come after it at the other: that costs two
 * binary searches, however many phases the program has.
 */
static uint32_t next_together(struct search *s, uint32_t from, uint32_t end,
			      const struct deadlock_wish *w)
{
	const struct phase_clock *clock = &s->w->clocks[w->clock];

	while (from < end && spend_steps(s, 1)) {
		const struct deadlock_wish *f = &s->w->v[s->edge[from].wish];
		struct phase p = f->phase;

		if (heldlocks_exclude(s->w->held, f->set, w->set))
			p = (struct phase){UINT32_MAX, UINT32_MAX};
		else if (phase_before(p, clock))
			p.index = clock->at[p.slot];
		else if (phase_before(w->phase, &s->w->clocks[f->clock]))
			p.index = UINT32_MAX;
		else
			break;
		from = edge_after(s, from, end, f->set, p);
	}
	return from;
}

/* Choose edges for arcs i .. n - 1 of the path. */
static bool choose_wishes(struct search *s, uint32_t i, uint32_t n, bool closes)
{
	const struct arc *a;
	uint32_t end;

	if (i == n)
		return true;
	a = &s->arc[s->path[i]];
	end = a->edge + a->nedges;
	for (uint32_t k = a->edge; k < end && !s->cut; k++) {
		if (i)
			k = next_together(s, k, end, &s->w->v[s->edge[s->chosen[i - 1]].wish]);
		if (k == end || !edge_fits(s, i, k, closes && i == n - 1))
			continue;
		s->chosen[i] = k;
		if (choose_wishes(s, i + 1, n, closes))
			return true;
	}
	return false;
}

/* The path has got its n-th arc: extend the choice to it. If that fails, nothing changes. */
static bool extend_choice(struct search *s, uint32_t n, bool closes)
{
	if (choose_wishes(s, n - 1, n, closes))
		return true;
	memcpy(s->saved, s->chosen, (n - 1) * sizeof *s->chosen);
	if (n > 1 && choose_wishes(s, 0, n, closes))
		return true;
	memcpy(s->chosen, s->saved, (n - 1) * sizeof *s->chosen);
	return false;
}

static void close_cycle(struct search *s)
{
	struct deadlock_cycle c = {s->wish, s->lock, s->length};

	if (!extend_choice(s, s->length, true))
		return;
	if (s->cycles == DEADLOCK_CYCLES_MAX) {
		s->cut = true;
		return;
	}
	s->cycles++;
	for (uint32_t i = 0; i < s->length; i++)
		s->wish[i] = s->edge[s->chosen[i]].wish;
	s->found(s->arg, &c);
}

/* Extend the sequence of n locks from the last one. */
static void walk_locks(struct search *s, uint32_t n)
{
	const struct node *last = &s->node[s->lock[n - 1]];

	for (uint32_t i = last->arc; i < last->arc + last->narcs && !s->cut; i++) {
		uint32_t to = s->arc[i].to;
		struct node *next = &s->node[to];

		spend_steps(s, 1);
		s->path[n - 1] = i;
		if (to == s->lock[0] && n == s->length) {
			close_cycle(s);
			continue;
		}
		if (to <= s->lock[0] || next->on_path)
			continue;
		if (next->stamp != s->stamp)
			continue;
		if (next->distance > s->length - n) {
			s->deeper = true;
			continue;
		}
		if (!extend_choice(s, n, false))
			continue;
		s->lock[n] = to;
		next->on_path = true;
		walk_locks(s, n + 1);
		next->on_path = false;
	}
}

/*
 * Set the distance to the start, over larger locks, for the nodes from which it is less
 * than `length`. Returns true if no other node reaches the start at all.
 */
static bool set_distances(struct search *s, uint32_t start)
{
	uint32_t head = 0, tail = 0;
	bool all = true;

	s->stamp++;
	s->node[start].stamp = s->stamp;
	s->node[start].distance = 0;
	s->queue[tail++] = start;
	while (head < tail) {
		const struct node *n = &s->node[s->queue[head++]];

		if (n->distance == s->length - 1) {
			all = false;
			break;
		}
		if (!spend_steps(s, n->nbacks))
			break;
		for (uint32_t i = n->back; i < n->back + n->nbacks; i++) {
			uint32_t from = s->arc[s->back[i]].from;
			struct node *before = &s->node[from];

			if (from < start || before->stamp == s->stamp)
				continue;
			before->stamp = s->stamp;
			before->distance = n->distance + 1;
			s->queue[tail++] = from;
		}
	}
	return all;
}

/* Find the cycles of this length whose smallest lock is `start`. */
static void search_from(struct search *s, uint32_t start)
{
	struct node *n = &s->node[start];
	bool all = set_distances(s, start);

	s->deeper = false;
	s->lock[0] = start;
	n->on_path = true;
	walk_locks(s, 1);
	n->on_path = false;
	n->done = all && !s->deeper;
}

static void search_lengths(struct search *s)
{
	bool any = true;

	for (s->length = 2; s->length <= s->longest && any && !s->cut; s->length++) {
		any = false;
		for (uint32_t v = 0; v < s->nnodes && !s->cut; v++) {
			if (!s->node[v].narcs || s->node[v].done)
				continue;
			search_from(s, v);
			any |= !s->node[v].done;
		}
	}
}

bool deadlock_find(const struct deadlock_wishes *w,
		   void (*found)(void *arg, const struct deadlock_cycle *c), void *arg)
{
	struct search s = {.w = w, .found = found, .arg = arg, .longest = count_slots(w)};
	size_t bytes = s.longest * sizeof *s.lock;

	if (!w->n)
		return true;
	add_edges(&s);
	add_arcs(&s);
	find_components(&s);
	keep_cyclic(&s);
	s.lock = mem_alloc(bytes);
	s.path = mem_alloc(bytes);
	s.chosen = mem_alloc(bytes);
	s.saved = mem_alloc(bytes);
	s.wish = mem_alloc(bytes);
	search_lengths(&s);
	mem_free(s.edge);
	mem_free(s.arc);
	mem_free(s.back);
	mem_free(s.node);
	mem_free(s.queue);
	mem_free(s.lock);
	mem_free(s.path);
	mem_free(s.chosen);
	mem_free(s.saved);
	mem_free(s.wish);
	return !s.cut;
}
