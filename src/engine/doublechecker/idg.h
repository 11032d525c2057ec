/*
 * DoubleChecker's imprecise dependence graph: transactions, edges that imply
 * every true dependence, components, logs of accesses.
 *
 * Semantics. A node is a transaction, or several operations of a thread outside
 * blocks that were merged; it is open while its block is. Edges come only into
 * nodes that are open, or of operations outside blocks and without an outgoing
 * edge. Unlike Velodrome's, this graph keeps edges that close a cycle. When a
 * transaction ends, its strongly connected component among what has ended is
 * found and made one node: so what has ended never has a cycle.
 *
 * A node that is not open and has no incoming edge can be on no cycle that is
 * yet to come, and a component is complete then: nothing open reaches it. It is
 * handed to `done`, if it has more than one transaction, and forgotten. So a
 * component is looked at once, when all of it is known. (The paper looks each
 * time a transaction ends, and again at what it has looked at before.)
 *
 * References to nodes are weak: they read as nothing once the node is gone.
 *
 * Who may include this: the files of doublechecker/, the runtime, tests.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_IDG_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_IDG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* life << 32 | 1 + node; 0 is nothing. */
typedef uint64_t idg_ref;
#define IDG_NONE UINT32_MAX

/* An access, `after` events behind its node's `begin`. */
struct idg_entry {
	uint32_t operand;
	uint32_t op : 5; /* enum op; OP_NONE: the thread is born */
	uint32_t after : 27;
};
enum { IDG_AFTER_MAX = (1 << 27) - 1 };

struct idg_log {
	struct idg_entry *v;
	uint32_t n, cap;
};

struct idg_node {
	uint64_t begin, end; /* events; of operations outside blocks only where the first is */
	struct idg_log log;
	uint32_t life;
	uint32_t thread, label;
	uint32_t of;   /* the node that stands for its component */
	uint32_t next; /* of the component's members, in a ring */
	uint32_t search;
	bool open, outside, elided; /* elided: repeats that matter are not in the log */
	bool alive, reaches;
	/* Of the component, in the node that stands for it. */
	bool cyclic; /* it has, or may have, a cycle */
	bool lost;   /* some log is not complete */
	uint32_t out, refs, size;
	uint64_t blocks;   /* transactions that are no operations outside */
	uint64_t accesses; /* in the logs or not */
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
	uint64_t log_bytes, alive, max_alive, edges; /* edges: ever, between threads */
	uint64_t work;                               /* edges that searches have looked at */
	/* A component with a cycle is complete; it is freed afterwards. */
	void (*done)(void *arg, struct idg *g, uint32_t component);
	void *arg;
};

void idg_free(struct idg *g);

/* A new node; `begin` is its first event. One of operations outside is not open. */
uint32_t idg_new(struct idg *g, uint32_t thread, uint64_t begin, bool outside);

static inline idg_ref idg_ref_to(const struct idg *g, uint32_t node)
{
	return (uint64_t)g->node[node].life << 32 | (node + 1);
}

/* The node itself, not its component; IDG_NONE where it is gone. */
static inline uint32_t idg_at(const struct idg *g, idg_ref ref)
{
	uint32_t n = (uint32_t)ref - 1;

	return ref && g->node[n].life == ref >> 32 ? n : IDG_NONE;
}

/* Is there an edge already? Looks only at the latest ones. */
bool idg_has_edge(const struct idg *g, uint32_t src, uint32_t dst);
/* An edge into `dst`, which stands for itself; nothing happens where it is there. */
void idg_add(struct idg *g, uint32_t src, uint32_t dst);

/* The block has ended; its component is found. `node` and others may be gone afterwards. */
void idg_end(struct idg *g, uint32_t node, uint64_t event);

/* Log an access. False: the event is too far from the node's begin; the log is lost then. */
bool idg_log(struct idg *g, uint32_t node, uint64_t event, uint8_t op, uint32_t operand);
/* Forget logs: those of what has ended, or where `open` is set all; returns how many. */
size_t idg_drop_logs(struct idg *g, bool open);

/*
 * Make one node of all that has ended, for want of memory; its logs are lost. It
 * is not said to have a cycle unless a part had. Returns it, or IDG_NONE where there
 * was nothing. References to its parts must be exchanged by idg_moved() before
 * idg_pool_end() frees those.
 */
uint32_t idg_pool(struct idg *g);
idg_ref idg_moved(const struct idg *g, idg_ref ref);
void idg_pool_end(struct idg *g, uint32_t pool);

#endif
