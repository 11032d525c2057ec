#include "engine/doublechecker/idg.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* Short logs stay with their node for its next life. */
enum { KEEP_CAP = 64, LOOK_BACK = 4 };

void idg_free(struct idg *g)
{
	for (size_t i = 0; i < g->nnodes; i++)
		mem_free(g->node[i].log.v);
	mem_free(g->node);
	mem_free(g->edge);
	mem_free(g->stack);
	mem_free(g->list);
	g->node = NULL;
	g->edge = NULL;
	g->stack = g->list = NULL;
	g->nnodes = g->nodes_cap = g->nedges = g->edges_cap = g->stack_cap = g->list_cap = 0;
	g->free_node = g->free_edge = 0;
}

uint32_t idg_new(struct idg *g, uint32_t thread, uint64_t begin, bool outside)
{
	struct idg_log log = {0};
	uint32_t n, life = 1;

	if (g->free_node) {
		n = g->free_node - 1;
		g->free_node = g->node[n].next;
		log = g->node[n].log;
		life = g->node[n].life;
	} else {
		MEM_GROW0(g->node, g->nodes_cap, g->nnodes + 1);
		n = (uint32_t)g->nnodes++;
	}
	log.n = 0;
	g->node[n] = (struct idg_node){
		.begin = begin,
		.log = log,
		.life = life,
		.thread = thread,
		.of = n,
		.next = n,
		.open = !outside,
		.outside = outside,
		.alive = true,
		.size = 1,
		.blocks = !outside,
	};
	if (++g->alive > g->max_alive)
		g->max_alive = g->alive;
	return n;
}

static void drop_log(struct idg *g, struct idg_node *n, uint32_t keep)
{
	n->log.n = 0;
	if (n->log.cap <= keep)
		return;
	g->log_bytes -= (uint64_t)n->log.cap * sizeof *n->log.v;
	mem_free(n->log.v);
	n->log = (struct idg_log){0};
}

static void free_node(struct idg *g, uint32_t node)
{
	struct idg_node *n = &g->node[node];

	drop_log(g, n, KEEP_CAP);
	n->life++;
	n->alive = false;
	n->next = g->free_node;
	g->free_node = node + 1;
	g->alive--;
}

static uint32_t free_edge(struct idg *g, uint32_t e)
{
	uint32_t next = g->edge[e - 1].next;

	g->edge[e - 1].next = g->free_edge;
	g->free_edge = e;
	return next;
}

/* Report and free components that no open node reaches, and then what only they reached. */
static void collect_components(struct idg *g, uint32_t first)
{
	size_t n = 0;

	MEM_GROW(g->stack, g->stack_cap, 1);
	g->stack[n++] = first;
	while (n) {
		uint32_t root = g->stack[--n], member, next;

		for (uint32_t e = g->node[root].out; e; e = free_edge(g, e)) {
			uint32_t to = g->node[g->edge[e - 1].to].of;

			if (!--g->node[to].refs && !g->node[to].open) {
				MEM_GROW(g->stack, g->stack_cap, n + 1);
				g->stack[n++] = to;
			}
		}
		g->node[root].out = 0;
		if (g->node[root].cyclic)
			g->done(g->arg, g, root);
		member = root;
		do {
			next = g->node[member].next;
			free_node(g, member);
			member = next;
		} while (member != root);
	}
}

bool idg_has_edge(const struct idg *g, uint32_t src, uint32_t dst)
{
	uint32_t e;

	src = g->node[src].of;
	if (src == dst)
		return true;
	e = g->node[src].out;
	for (int i = 0; i < LOOK_BACK && e; i++, e = g->edge[e - 1].next)
		if (g->edge[e - 1].to == dst)
			return true;
	return false;
}

void idg_add(struct idg *g, uint32_t src, uint32_t dst)
{
	uint32_t e = g->free_edge;

	if (idg_has_edge(g, src, dst))
		return;
	src = g->node[src].of;
	if (e) {
		g->free_edge = g->edge[e - 1].next;
	} else {
		MEM_GROW(g->edge, g->edges_cap, g->nedges + 1);
		e = (uint32_t)++g->nedges;
	}
	g->edge[e - 1] = (struct idg_edge){dst, g->node[src].out};
	g->node[src].out = e;
	g->node[dst].refs++;
	g->edges += g->node[src].thread != g->node[dst].thread;
}

/*
 * Merge the components in the list into one. Edges inside it are removed, and of
 * several edges to another component one is kept.
 */
static uint32_t merge_components(struct idg *g, const uint32_t *list, size_t n)
{
	uint32_t root = list[0], refs = 0, out = 0;

	for (size_t i = 1; i < n; i++)
		if (g->node[list[i]].size > g->node[root].size)
			root = list[i];
	for (size_t i = 0; i < n; i++) {
		struct idg_node *part = &g->node[list[i]], *to = &g->node[root];
		uint32_t member = list[i], swap;

		refs += part->refs;
		if (list[i] == root)
			continue;
		do {
			g->node[member].of = root;
			member = g->node[member].next;
		} while (member != list[i]);
		swap = part->next;
		part->next = to->next;
		to->next = swap;
		to->size += part->size;
		to->blocks += part->blocks;
		to->cyclic |= part->cyclic;
		to->lost |= part->lost;
		to->accesses += part->accesses;
	}
	g->search++;
	g->node[root].search = g->search; /* an edge to the root is inside */
	for (size_t i = 0; i < n; i++) {
		uint32_t e = g->node[list[i]].out;

		g->node[list[i]].out = 0;
		while (e) {
			uint32_t to = g->node[g->edge[e - 1].to].of, next = g->edge[e - 1].next;

			g->work++;
			if (g->node[to].search == g->search) {
				if (to == root)
					refs--;
				else
					g->node[to].refs--;
				free_edge(g, e);
			} else {
				g->node[to].search = g->search;
				g->edge[e - 1] = (struct idg_edge){to, out};
				out = e;
			}
			e = next;
		}
	}
	g->node[root].out = out;
	g->node[root].refs = refs;
	return root;
}

static void push_node(struct idg *g, size_t *n, uint32_t node)
{
	MEM_GROW(g->stack, g->stack_cap, *n + 2);
	g->stack[(*n)++] = node;
	g->stack[(*n)++] = g->node[node].out;
	g->node[node].search = g->search;
	g->node[node].reaches = false;
}

/*
 * Find the ended components that reach `start` and are reached by it. Without `start`
 * the ended ones have no cycle, so one search that keeps its answers is enough.
 */
static size_t find_component(struct idg *g, uint32_t start)
{
	size_t n = 0, found = 0;

	g->search++;
	push_node(g, &n, start);
	while (n) {
		uint32_t at = g->stack[n - 2], e = g->stack[n - 1], to;

		if (!e) {
			n -= 2;
			if (!g->node[at].reaches)
				continue;
			MEM_GROW(g->list, g->list_cap, found + 1);
			g->list[found++] = at;
			if (n)
				g->node[g->stack[n - 2]].reaches = true;
			continue;
		}
		g->work++;
		g->stack[n - 1] = g->edge[e - 1].next;
		to = g->node[g->edge[e - 1].to].of;
		if (g->node[to].open)
			continue;
		if (g->node[to].search != g->search)
			push_node(g, &n, to);
		else if (to == start || g->node[to].reaches)
			g->node[at].reaches = true;
	}
	return found;
}

void idg_end(struct idg *g, uint32_t node, uint64_t event)
{
	struct idg_node *x = &g->node[node];
	size_t n;

	x->open = false;
	x->end = event;
	if (x->refs && x->out) {
		n = find_component(g, node);
		if (n > 1) {
			node = merge_components(g, g->list, n);
			g->node[node].cyclic = true;
		}
	}
	if (!g->node[node].refs)
		collect_components(g, node);
}

bool idg_log(struct idg *g, uint32_t node, uint64_t event, uint8_t op, uint32_t operand)
{
	struct idg_node *n = &g->node[node];
	uint64_t after = event - n->begin;

	if (after > IDG_AFTER_MAX) {
		g->node[n->of].lost = true;
		drop_log(g, n, 0);
		return false;
	}
	if (n->log.n == n->log.cap) {
		size_t cap = n->log.cap;

		g->log_bytes -= cap * sizeof *n->log.v;
		MEM_GROW(n->log.v, cap, cap + 1);
		n->log.cap = (uint32_t)cap;
		g->log_bytes += cap * sizeof *n->log.v;
	}
	n->log.v[n->log.n++] =
		(struct idg_entry){.operand = operand, .op = op, .after = (uint32_t)after};
	return true;
}

size_t idg_drop_logs(struct idg *g, bool open)
{
	size_t dropped = 0;

	for (size_t i = 0; i < g->nnodes; i++) {
		struct idg_node *n = &g->node[i];

		if (n->alive && n->log.n && (open || !n->open)) {
			g->node[n->of].lost = true;
			dropped++;
		}
		if (!n->alive || open || !n->open)
			drop_log(g, n, 0);
	}
	return dropped;
}

uint32_t idg_pool(struct idg *g)
{
	size_t n = 0;
	uint32_t pool;

	for (size_t i = 0; i < g->nnodes; i++) {
		if (!g->node[i].alive || g->node[i].open || g->node[i].of != i)
			continue;
		MEM_GROW(g->list, g->list_cap, n + 1);
		g->list[n++] = (uint32_t)i;
	}
	if (!n)
		return IDG_NONE;
	pool = merge_components(g, g->list, n);
	g->node[pool].lost = true;
	return pool;
}

idg_ref idg_moved(const struct idg *g, idg_ref ref)
{
	uint32_t n = idg_at(g, ref);

	return n == IDG_NONE ? 0 : idg_ref_to(g, g->node[n].of);
}

void idg_pool_end(struct idg *g, uint32_t pool)
{
	uint32_t member = g->node[pool].next;

	/* Open nodes may have edges to the merged ones. */
	for (size_t i = 0; i < g->nnodes; i++) {
		if (!g->node[i].alive || !g->node[i].open)
			continue;
		for (uint32_t e = g->node[i].out; e; e = g->edge[e - 1].next)
			g->edge[e - 1].to = g->node[g->edge[e - 1].to].of;
	}
	while (member != pool) {
		uint32_t next = g->node[member].next;

		free_node(g, member);
		member = next;
	}
	g->node[pool].next = pool;
	g->node[pool].outside = false;
	drop_log(g, &g->node[pool], 0);
	if (!g->node[pool].refs)
		collect_components(g, pool);
}
