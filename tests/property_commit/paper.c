#include "paper.h"

#include <string.h>

#include "base/banned.h"

static bool is_read(const struct paper *p, int e)
{
	return p->t->ev[p->node[e].event].op != OP_WRITE;
}

static bool is_write(const struct paper *p, int e)
{
	return p->t->ev[p->node[e].event].op != OP_READ;
}

static uint32_t get_var(const struct paper *p, int e)
{
	return p->t->ev[p->node[e].event].operand;
}

static bool is_leaf(const struct paper *p, int n)
{
	return !p->node[n].is_root && !p->node[n].is_lock;
}

static void build_trees(struct paper *p)
{
	int open[PAPER_THREADS];

	memset(open, -1, sizeof open);
	for (size_t i = 0; i < p->t->n; i++) {
		const struct event *e = &p->t->ev[i];
		struct paper_node new = {e->thread, open[e->thread], i, false, false};

		if (e->thread >= p->nthreads)
			p->nthreads = e->thread + 1;
		if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED)
			open[e->thread] = p->node[open[e->thread]].parent;
		if (e->op == OP_BEGIN)
			new.is_root = true;
		else if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
			new.is_lock = true;
		else if (!op_is_access(e->op))
			continue;
		p->node[p->n] = new;
		if (new.is_lock || new.is_root)
			open[e->thread] = (int)p->n;
		p->n++;
	}
}

static bool contains(const struct paper *p, int outer, int inner)
{
	for (; inner >= 0; inner = p->node[inner].parent)
		if (inner == outer)
			return true;
	return false;
}

/* Do two lock blocks exclude each other? */
static bool exclude(const struct paper *p, int a, int b)
{
	const struct event *e = &p->t->ev[p->node[a].event], *f = &p->t->ev[p->node[b].event];

	return p->node[a].is_lock && p->node[b].is_lock && e->operand == f->operand &&
	       (e->op == OP_ACQUIRE || f->op == OP_ACQUIRE);
}

/* Returns the outermost lock block around e that excludes one around f; -1 if there is none. */
static int find_outermost(const struct paper *p, int e, int f)
{
	int found = -1;

	for (int a = p->node[e].parent; a >= 0; a = p->node[a].parent)
		for (int b = p->node[f].parent; b >= 0; b = p->node[b].parent)
			if (exclude(p, a, b))
				found = a;
	return found;
}

/* Returns the last write of the same segment and variable before a read; -1 if there is none. */
static int find_write_before(const struct paper *p, int e)
{
	int found = -1;

	for (int i = 0; i < e; i++)
		if (is_leaf(p, i) && p->node[i].thread == p->node[e].thread && is_write(p, i) &&
		    get_var(p, i) == get_var(p, e))
			found = i;
	return found;
}

static bool has_write_before(const struct paper *p, int e, int block)
{
	for (int i = 0; i < e; i++)
		if (is_leaf(p, i) && contains(p, block, i) && is_write(p, i) &&
		    get_var(p, i) == get_var(p, e))
			return true;
	return false;
}

/* Potential write-predecessors of the current read. */
struct preds {
	int v[PAPER_NODES];
	size_t n;
	bool in[PAPER_NODES];
};

static void add_inter_edge(struct paper *p, int e, int f, bool as_read, struct preds *s)
{
	int n, m;

	if (p->node[e].thread == p->node[f].thread)
		return;
	n = find_outermost(p, e, f);
	if (n < 0) {
		p->edge[e][f] = p->edge[f][e] = true;
	} else {
		if (as_read && has_write_before(p, e, n))
			return;
		m = -1;
		for (int b = p->node[f].parent; b >= 0; b = p->node[b].parent)
			if (exclude(p, n, b))
				m = b;
		p->edge[n][m] = p->edge[m][n] = true;
	}
	if (as_read && s) {
		int own = find_write_before(p, e);

		if (own >= 0 && !s->in[own]) {
			s->in[own] = true;
			s->v[s->n++] = own;
		}
		for (size_t i = 0; i < s->n; i++)
			add_inter_edge(p, f, s->v[i], false, NULL);
		if (!s->in[f]) {
			s->in[f] = true;
			s->v[s->n++] = f;
		}
	}
}

/* Figure 3. */
static void build_conflict_forest(struct paper *p)
{
	for (int e = 0; e < (int)p->n; e++)
		for (int f = 0; f < (int)p->n; f++) {
			if (!is_leaf(p, e) || !is_leaf(p, f) || get_var(p, e) != get_var(p, f) ||
			    !is_write(p, f))
				continue;
			if (is_read(p, e))
				add_inter_edge(p, e, f, true, NULL);
			if (is_write(p, e))
				add_inter_edge(p, e, f, false, NULL);
		}
}

static bool is_final(const struct paper *p, int e)
{
	for (int i = e + 1; i < (int)p->n; i++)
		if (is_leaf(p, i) && p->node[i].thread == p->node[e].thread && is_write(p, i) &&
		    get_var(p, i) == get_var(p, e))
			return false;
	return is_write(p, e);
}

/* Figure 5. */
static void build_view_forest(struct paper *p)
{
	for (int e = 0; e < (int)p->n; e++) {
		struct preds s = {.n = 0};

		if (!is_leaf(p, e))
			continue;
		for (int f = 0; f < (int)p->n; f++)
			if (is_leaf(p, f) && get_var(p, e) == get_var(p, f) && is_read(p, e) &&
			    is_write(p, f))
				add_inter_edge(p, e, f, true, &s);
		for (int f = 0; f < (int)p->n; f++)
			if (is_leaf(p, f) && get_var(p, e) == get_var(p, f) && is_final(p, e) &&
			    is_final(p, f))
				add_inter_edge(p, e, f, false, NULL);
	}
}

static bool communicates(const struct paper *p, int n)
{
	for (size_t k = 0; k < p->n; k++)
		if (p->edge[n][k])
			return true;
	return false;
}

/* Is there a path from a to b that leaves their tree at once and returns to it only at its end? */
static bool are_connected(const struct paper *p, int a, int b)
{
	bool seen[PAPER_NODES] = {false};
	int queue[PAPER_NODES];
	size_t head = 0, tail = 0;

	for (int k = 0; k < (int)p->n; k++)
		if (p->edge[a][k])
			seen[queue[tail++] = k] = true;
	while (head < tail) {
		int n = queue[head++];

		if (p->edge[n][b])
			return true;
		for (int k = 0; k < (int)p->n; k++) {
			bool next =
				p->edge[n][k] || p->node[n].parent == k || p->node[k].parent == n;

			if (next && !seen[k] && p->node[k].thread != p->node[a].thread)
				seen[queue[tail++] = k] = true;
		}
	}
	return false;
}

void paper_judge(struct paper *p, const struct trace *t, bool view)
{
	memset(p, 0, sizeof *p);
	p->t = t;
	build_trees(p);
	(view ? build_view_forest : build_conflict_forest)(p);
	for (int a = 0; a < (int)p->n; a++) {
		bool innermost = communicates(p, a);

		if (!innermost)
			continue;
		for (int b = 0; b < (int)p->n; b++) {
			if (a == b || p->node[a].thread != p->node[b].thread || !communicates(p, b))
				continue;
			innermost &= !contains(p, a, b);
			if (!contains(p, a, b) && !contains(p, b, a) && are_connected(p, a, b))
				p->on_cycle[p->node[a].thread] = true;
		}
		p->commit_nodes[p->node[a].thread] += innermost;
	}
}
