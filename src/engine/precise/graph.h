/*
 * Velodrome's happens-before graph on transactions: nodes, edges, collection of
 * nodes that can never be on a cycle again, and the test whether an edge would
 * close one.
 *
 * Semantics. A node is open while its transaction runs. Edges are added only
 * into a node that is open or brand new. A node that is not open and has no
 * incoming edge can never lie on a cycle: it is collected at once, its edges
 * with it, which may free others (reference counts suffice, since the graph is
 * kept acyclic). References to nodes are weak: a step names a node and a time,
 * and reads as nothing once that life of the node is over.
 *
 * The cycle test keeps a topological order: an edge that agrees with it closes
 * no cycle, which is the common case and one comparison. An edge against it
 * searches what its target reaches; if the source is not among that, all of it
 * moves to the end of the order.
 *
 * Included by: velodrome.c.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_GRAPH_H
#define ATOMSAN_ENGINE_PRECISE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* time << GRAPH_NODE_BITS | node; 0 is nothing. Times are event numbers. */
typedef uint64_t graph_step;
enum { GRAPH_NODE_BITS = 26, GRAPH_NONE = (1 << GRAPH_NODE_BITS) - 1 };

struct graph_node {
	uint64_t born;  /* steps before this time belong to a former life */
	uint64_t order; /* in the topological order */
	uint32_t refs;  /* incoming edges */
	uint32_t out;   /* first outgoing edge, 1 + index */
	uint32_t seen;  /* last search that visited it */
	bool open;
};

struct graph {
	struct graph_node *node;
	size_t nnodes, nodes_cap;
	uint32_t free_node; /* 1 + index; linked by `out` */
	struct graph_edge *edge;
	size_t nedges, edges_cap;
	uint32_t free_edge;
	uint64_t *pair; /* hash set of the edges: source << 32 | target */
	size_t npairs, pair_slots;
	uint64_t top; /* last number of the topological order */
	uint32_t search;
	uint32_t *stack; /* scratch */
	size_t stack_cap;
	uint64_t allocated, alive, max_alive;
};

void graph_init(struct graph *g);
void graph_free(struct graph *g);

/* Make an open node, born at event `now`. */
uint32_t graph_new(struct graph *g, uint64_t now);
/* The transaction has ended. The node may be collected at once. */
void graph_close(struct graph *g, uint32_t node);

static inline graph_step graph_step_of(uint32_t node, uint64_t time)
{
	return time << GRAPH_NODE_BITS | node;
}

/* Returns the node of a step; GRAPH_NONE if it was collected. */
static inline uint32_t graph_node_of(const struct graph *g, graph_step s)
{
	uint32_t n = (uint32_t)s & GRAPH_NONE;

	return s && g->node[n].born <= s >> GRAPH_NODE_BITS ? n : (uint32_t)GRAPH_NONE;
}

static inline bool graph_step_alive(const struct graph *g, graph_step s)
{
	return graph_node_of(g, s) != (uint32_t)GRAPH_NONE;
}

/* Add src -> dst, unless it exists. Returns false if it would close a cycle; it is not added then.
 */
bool graph_add(struct graph *g, uint32_t src, uint32_t dst);

/*
 * Is there a path? This looks at a few thousand edges at most: false may also mean
 * that it gave up.
 */
bool graph_path(struct graph *g, uint32_t from, uint32_t to);

#endif
