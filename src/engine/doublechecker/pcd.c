#include "engine/doublechecker/pcd.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/event.h"

#include "base/banned.h"

/* The transactions of one thread that are still to come. */
struct cursor {
	const struct idg_node **v; /* ends with NULL */
	uint32_t at;               /* 0: its begin; then its log; then its end */
	uint64_t event;            /* number of the next event */
};

static int by_thread(const void *a, const void *b)
{
	const struct idg_node *x = *(const struct idg_node *const *)a;
	const struct idg_node *y = *(const struct idg_node *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Set the number of the next event. Returns false if there is none. */
static bool find_next(struct cursor *c, uint32_t thread)
{
	for (;;) {
		const struct idg_node *n = *c->v;

		if (!n || n->thread != thread)
			return false;
		if (c->at == 0 && n->outside)
			c->at = 1;
		if (c->at == 0)
			c->event = n->begin;
		else if (c->at <= n->log.n)
			c->event = n->begin + n->log.v[c->at - 1].after;
		else if (c->at == n->log.n + 1 && !n->outside)
			c->event = n->end;
		else {
			c->v++;
			c->at = 0;
			continue;
		}
		return true;
	}
}

static void replay_one(struct precise *p, const struct cursor *c)
{
	const struct idg_node *n = *c->v;
	struct event e = {.thread = n->thread};

	if (c->at == 0) {
		e.op = OP_BEGIN;
		e.outer = OUTER_BEGIN;
	} else if (c->at > n->log.n) {
		e.op = OP_END;
		e.outer = OUTER_END;
	} else {
		const struct idg_entry *x = &n->log.v[c->at - 1];

		if (x->op == OP_NONE) {
			precise_born(p, n->thread);
			return;
		}
		e.op = x->op;
		e.operand = x->operand;
	}
	precise_one(p, &e, c->event);
}

/* Restore a heap by event; heap[0] is next. */
static void sift_down(struct cursor *heap, size_t n, size_t i)
{
	for (;;) {
		size_t least = i;
		struct cursor swap = heap[i];

		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
			if (heap[k].event < heap[least].event)
				least = k;
		if (least == i)
			return;
		heap[i] = heap[least];
		heap[least] = swap;
		i = least;
	}
}

size_t pcd_replay(struct precise *p, const struct idg *g, uint32_t component, bool *elided)
{
	uint32_t size = g->node[component].size, member = component;
	const struct idg_node **v = mem_alloc((size + 1) * sizeof(struct idg_node *));
	struct cursor *heap = NULL;
	size_t n = 0, cap = 0, had = p->closings.n;

	*elided = false;
	for (uint32_t i = 0; i < size; i++) {
		v[i] = &g->node[member];
		*elided |= v[i]->elided;
		member = v[i]->next;
	}
	v[size] = NULL;
	qsort(v, size, sizeof(struct idg_node *), by_thread);
	for (uint32_t i = 0; i < size; i++) {
		if (i && v[i]->thread == v[i - 1]->thread)
			continue;
		MEM_GROW(heap, cap, n + 1);
		heap[n] = (struct cursor){.v = v + i};
		if (find_next(&heap[n], v[i]->thread))
			n++;
	}
	for (size_t i = n / 2; i-- > 0;)
		sift_down(heap, n, i);
	while (n) {
		uint32_t thread = (*heap[0].v)->thread;

		replay_one(p, &heap[0]);
		heap[0].at++;
		if (!find_next(&heap[0], thread))
			heap[0] = heap[--n];
		sift_down(heap, n, 0);
	}
	mem_free(heap);
	mem_free(v);
	return p->closings.n - had;
}
