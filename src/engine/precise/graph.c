#include "engine/precise/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

struct graph_edge {
	uint32_t to, next; /* next: 1 + index, 0 at the end */
};

enum { PATH_BUDGET = 4096 };

void graph_init(struct graph *g)
{
	*g = (struct graph){0};
}

void graph_free(struct graph *g)
{
	mem_free(g->node);
	mem_free(g->edge);
	mem_free(g->pair);
	mem_free(g->stack);
}

/* The set of edges: open addressing. 0 is a free slot, so pairs are stored plus 1. */

static size_t pair_slot(const struct graph *g, uint64_t pair)
{
	uint64_t h = pair * 0x9e3779b97f4a7c15ull;

	return (size_t)(h ^ h >> 32) & (g->pair_slots - 1);
}

static void pairs_grow(struct graph *g)
{
	uint64_t *old = g->pair;
	size_t n = g->pair_slots;

	g->pair_slots = n ? n * 2 : 256;
	g->pair = mem_zalloc(g->pair_slots * sizeof *g->pair);
	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (!old[i])
			continue;
		at = pair_slot(g, old[i]);
		while (g->pair[at])
			at = (at + 1) & (g->pair_slots - 1);
		g->pair[at] = old[i];
	}
	mem_free(old);
}

/* Returns false if the pair is in the set already. */
static bool pair_insert(struct graph *g, uint64_t pair)
{
	size_t at;

	if (g->npairs >= g->pair_slots / 2)
		pairs_grow(g);
	for (at = pair_slot(g, pair); g->pair[at]; at = (at + 1) & (g->pair_slots - 1))
		if (g->pair[at] == pair)
			return false;
	g->pair[at] = pair;
	g->npairs++;
	return true;
}

static void pair_remove(struct graph *g, uint64_t pair)
{
	size_t mask = g->pair_slots - 1, hole = pair_slot(g, pair), at;

	while (g->pair[hole] != pair)
		hole = (hole + 1) & mask;
	/* Move back entries that would not be found across the hole. */
	for (at = (hole + 1) & mask; g->pair[at]; at = (at + 1) & mask) {
		size_t home = pair_slot(g, g->pair[at]);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		g->pair[hole] = g->pair[at];
		hole = at;
	}
	g->pair[hole] = 0;
	g->npairs--;
}

static uint64_t pair_of(uint32_t src, uint32_t dst)
{
	return ((uint64_t)src << 32 | dst) + 1;
}

uint32_t graph_new(struct graph *g, uint64_t now)
{
	uint32_t n;

	if (g->free_node) {
		n = g->free_node - 1;
		g->free_node = g->node[n].out;
	} else {
		if (g->nnodes == GRAPH_NONE) {
			fprintf(stderr,
				"atomsan: velodrome: more than %d transactions alive; use "
				"--engine=frontier\n",
				GRAPH_NONE);
			exit(2);
		}
		MEM_GROW0(g->node, g->nodes_cap, g->nnodes + 1);
		n = (uint32_t)g->nnodes++;
	}
	g->node[n] = (struct graph_node){.born = now, .order = ++g->top, .open = true};
	g->allocated++;
	if (++g->alive > g->max_alive)
		g->max_alive = g->alive;
	return n;
}

/* Free a node, and then all nodes that have no incoming edge left. */
static void collect_nodes(struct graph *g, uint32_t node)
{
	size_t n = 0;

	MEM_GROW(g->stack, g->stack_cap, 1);
	g->stack[n++] = node;
	while (n) {
		uint32_t at = g->stack[--n];
		struct graph_node *dead = &g->node[at];
		uint32_t e = dead->out;

		while (e) {
			struct graph_edge *edge = &g->edge[e - 1];
			uint32_t next = edge->next;
			struct graph_node *to = &g->node[edge->to];

			pair_remove(g, pair_of(at, edge->to));
			if (!--to->refs && !to->open) {
				MEM_GROW(g->stack, g->stack_cap, n + 1);
				g->stack[n++] = edge->to;
			}
			edge->next = g->free_edge;
			g->free_edge = e;
			e = next;
		}
		dead->born = UINT64_MAX;
		dead->out = g->free_node;
		g->free_node = at + 1;
		g->alive--;
	}
}

void graph_close(struct graph *g, uint32_t node)
{
	g->node[node].open = false;
	if (!g->node[node].refs)
		collect_nodes(g, node);
}

/*
 * Move everything that `from` reaches to the end of the topological order, keeping
 * its own order. Returns false, and moves nothing, if `find` is among it.
 */
static bool move_to_end(struct graph *g, uint32_t from, uint32_t find)
{
	uint32_t *list = NULL; /* in the order in which the search leaves them */
	size_t n = 0, nlist = 0, list_cap = 0;
	bool found = from == find;

	g->search++;
	MEM_GROW(g->stack, g->stack_cap, 2);
	/* The stack holds pairs: a node, and the next edge of it to follow. */
	g->stack[n++] = from;
	g->stack[n++] = g->node[from].out;
	g->node[from].seen = g->search;
	while (n && !found) {
		uint32_t e = g->stack[n - 1];

		if (!e) {
			MEM_GROW(list, list_cap, nlist + 1);
			list[nlist++] = g->stack[n - 2];
			n -= 2;
			continue;
		}
		g->stack[n - 1] = g->edge[e - 1].next;
		e = g->edge[e - 1].to;
		if (g->node[e].seen == g->search)
			continue;
		g->node[e].seen = g->search;
		found = e == find;
		MEM_GROW(g->stack, g->stack_cap, n + 2);
		g->stack[n++] = e;
		g->stack[n++] = g->node[e].out;
	}
	while (!found && nlist)
		g->node[list[--nlist]].order = ++g->top;
	mem_free(list);
	return !found;
}

bool graph_add(struct graph *g, uint32_t src, uint32_t dst)
{
	uint32_t e;

	if (src == dst)
		return true;
	if (g->node[src].order > g->node[dst].order && !move_to_end(g, dst, src))
		return false;
	if (!pair_insert(g, pair_of(src, dst)))
		return true;
	if (g->free_edge) {
		e = g->free_edge;
		g->free_edge = g->edge[e - 1].next;
	} else {
		MEM_GROW(g->edge, g->edges_cap, g->nedges + 1);
		e = (uint32_t)++g->nedges;
	}
	g->edge[e - 1] = (struct graph_edge){dst, g->node[src].out};
	g->node[src].out = e;
	g->node[dst].refs++;
	return true;
}

bool graph_path(struct graph *g, uint32_t from, uint32_t to)
{
	uint64_t until = g->node[to].order;
	size_t n = 0, looked = 0;

	if (from == to)
		return true;
	g->search++;
	MEM_GROW(g->stack, g->stack_cap, 1);
	g->stack[n++] = from;
	while (n) {
		for (uint32_t e = g->node[g->stack[--n]].out; e; e = g->edge[e - 1].next) {
			uint32_t next = g->edge[e - 1].to;

			if (next == to)
				return true;
			if (++looked > PATH_BUDGET)
				return false;
			if (g->node[next].order >= until || g->node[next].seen == g->search)
				continue;
			g->node[next].seen = g->search;
			MEM_GROW(g->stack, g->stack_cap, n + 1);
			g->stack[n++] = next;
		}
	}
	return false;
}
