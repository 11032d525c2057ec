/*
 * DoubleChecker's imprecise dependence graph: transactions, edges that imply
 * every true dependence, components, logs of accesses.
 *
 * Semantics. A node is a transaction, or several operations of a thread outside
 * blocks that were merged; it is open while its block is. Edges end only in nodes
 * that are open, or that are operations outside blocks without an outgoing edge.
 * Unlike Velodrome's, this graph keeps edges that close a cycle. When a transaction
 * ends, its strongly connected component among the nodes that have ended is found
 * and merged into one node: so those never have a cycle.
 *
 * A node that is not open and has no incoming edge can be on no future cycle, and
 * its component is complete: no open node reaches it. If it has more than one
 * transaction, it is given to `done`; then it is freed. So a component is checked
 * once, when all of it is known. (The paper checks each time a transaction ends,
 * and checks again what it has checked before.)
 *
 * References to nodes are weak: they read as nothing once the node is freed.
 *
 * Included by: the files of doublechecker/, the runtime, tests.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_IDG_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_IDG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* life << 32 | 1 + node; 0 is nothing. */
typedef uint64_t idg_ref;
#define IDG_NONE UINT32_MAX

/* An access, `after` events after the `begin` of its node. */
struct idg_entry {
	uint32_t operand;
	uint32_t op : 5; /* enum op; OP_NONE: the thread begins */
	uint32_t after : 27;
};
enum { IDG_AFTER_MAX = (1 << 27) - 1 };

struct idg_log {
	struct idg_entry *v;
	uint32_t n, cap;
};

struct idg_node {
	uint64_t begin, end; /* events; of operations outside blocks only the first */
	struct idg_log log;
	uint32_t life;
	uint32_t thread, label;
	uint32_t of;   /* the node that represents its component */
	uint32_t next; /* of the component's members, in a ring */
	uint32_t search;
	bool open, outside, elided; /* elided: repeated accesses that matter are not in the log */
	bool alive, reaches;
	/* Of the component, in the node that represents it: */
	bool cyclic; /* it has, or may have, a cycle */
	bool lost;   /* some log is not complete */
	uint32_t out, refs, size;
	uint64_t blocks;   /* transactions that are not operations outside blocks */
	uint64_t accesses; /* whether or not they are in the logs */
};

struct idg_edge {
	uint32_t to, next; /* next: 1 + index */
};

struct idg {
	struct idg_node *node;
	size_t nnodes, nodes_cap;
	uint32_t free_node; /* 1 + index; linked by `next` */
	struct idg_edge *edge;
	size_t nedges, edges_cap;
	uint32_t free_edge;
	uint32_t search;
	uint32_t *stack, *list; /* scratch */
	size_t stack_cap, list_cap;
	uint64_t log_bytes, alive, max_alive,
		edges; /* edges: all that were added between threads */
	uint64_t work; /* edges that searches have looked at */
	/* Called for a complete component with a cycle, before it is freed. */
	void (*done)(void *arg, struct idg *g, uint32_t component);
	void *arg;
};

void idg_free(struct idg *g);

/* Make a node; `begin` is its first event. A node of operations outside blocks is not open. */
uint32_t idg_new(struct idg *g, uint32_t thread, uint64_t begin, bool outside);

static inline idg_ref idg_ref_to(const struct idg *g, uint32_t node)
{
	return (uint64_t)g->node[node].life << 32 | (node + 1);
}

/* Returns the node itself, not its component; IDG_NONE if it was freed. */
static inline uint32_t idg_at(const struct idg *g, idg_ref ref)
{
	uint32_t n = (uint32_t)ref - 1;

	return ref && g->node[n].life == ref >> 32 ? n : IDG_NONE;
}

/* Does the edge exist already? Checks only the latest edges. */
bool idg_has_edge(const struct idg *g, uint32_t src, uint32_t dst);
/* Add an edge into `dst`, which represents itself, unless the edge exists. */
void idg_add(struct idg *g, uint32_t src, uint32_t dst);

/* End a block and find its component. `node` and others may be freed by this. */
void idg_end(struct idg *g, uint32_t node, uint64_t event);

/* Log an access. Returns false, and the log is lost, if it is too far from the node's begin. */
bool idg_log(struct idg *g, uint32_t node, uint64_t event, uint8_t op, uint32_t operand);
/* Drop the logs of ended nodes, or with `open` all logs; returns how many. */
size_t idg_drop_logs(struct idg *g, bool open);

/*
 * Merge all ended nodes into one, to save memory; the logs are lost. The new node
 * counts as cyclic only if one of them did. Returns it, or IDG_NONE if there was
 * none. Replace references to the old nodes by idg_moved() before idg_pool_end()
 * frees them.
 */
uint32_t idg_pool(struct idg *g);
idg_ref idg_moved(const struct idg *g, idg_ref ref);
void idg_pool_end(struct idg *g, uint32_t pool);

#endif
