#include "random_segments.h"

#include "rng.h"

#include "base/banned.h"

enum { DEPTH = 3, LOCKS = 4 };

struct gen {
	struct rng rng;
	struct trace *out;
	enum segments_shape shape;
	unsigned vars, locks, reads, updates, shared;
	uint32_t thread, held[DEPTH];
	enum op release[DEPTH];
	unsigned depth;
};

static void emit(struct gen *g, enum op op, uint32_t operand)
{
	trace_add(g->out, g->thread, op, operand);
}

static void access_var(struct gen *g)
{
	enum op op = rng_percent(&g->rng, g->reads) ? OP_READ : OP_WRITE;

	if (rng_percent(&g->rng, g->updates))
		op = OP_UPDATE;
	emit(g, op, rng_below(&g->rng, g->vars));
}

/* Acquires a lock above all that are held, so that all threads use the same order. */
static bool acquire(struct gen *g)
{
	uint32_t low = 0;
	bool share = rng_percent(&g->rng, g->shared);

	for (unsigned i = 0; i < g->depth; i++)
		low = g->held[i] >= low ? g->held[i] + 1 : low;
	if (low >= g->locks || g->depth == DEPTH)
		return false;
	g->held[g->depth] = rng_between(&g->rng, low, g->locks - 1);
	g->release[g->depth] = share ? OP_RELEASE_SHARED : OP_RELEASE;
	emit(g, share ? OP_ACQUIRE_SHARED : OP_ACQUIRE, g->held[g->depth++]);
	return true;
}

static void release(struct gen *g)
{
	unsigned i = g->depth - 1;

	if (g->shape == CROSSED)
		i = rng_below(&g->rng, g->depth);
	emit(g, g->release[i], g->held[i]);
	for (g->depth--; i < g->depth; i++) {
		g->held[i] = g->held[i + 1];
		g->release[i] = g->release[i + 1];
	}
}

/*
 * Adds about n operations, then releases locks until `to` are held. If locks are nested, these are
 * the locks held before; if they are crossed, any.
 */
static void add_operations(struct gen *g, unsigned n, unsigned to)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned what = rng_below(&g->rng, 100);

		if (what < 30 && acquire(g))
			continue;
		if (what < 55 && g->depth > to)
			release(g);
		else
			access_var(g);
	}
	while (g->depth > to)
		release(g);
}

static void add_thread(struct gen *g)
{
	unsigned segments = g->shape == TWO_BLOCKS ? 1 : rng_between(&g->rng, 1, 2);
	unsigned most = g->shape == TWO_BLOCKS ? 7 : 4;

	for (unsigned i = 0; i < segments; i++) {
		bool block = g->shape == TWO_BLOCKS || rng_percent(&g->rng, 75);
		unsigned keep = 0;

		if (g->shape == CROSSED && rng_percent(&g->rng, 20))
			acquire(g);
		if (g->shape == CROSSED && rng_percent(&g->rng, 30))
			keep = g->depth;
		if (block)
			emit(g, OP_BEGIN, 0);
		add_operations(g, rng_between(&g->rng, 1, block ? most : 2), keep);
		if (block)
			emit(g, OP_END, 0);
	}
	while (g->depth)
		release(g);
}

/* The threads run one after the other: the engines must not depend on the order of the run. */
void random_segments(struct trace *t, uint64_t seed, enum segments_shape shape)
{
	struct gen g = {.rng = {seed * SEGMENTS_SHAPES + shape}, .out = t, .shape = shape};
	unsigned threads;

	t->n = 0;
	t->style = STYLE_BOTH;
	threads = shape == TWO_BLOCKS ? 2 : rng_between(&g.rng, 2, 3);
	g.vars = rng_between(&g.rng, 1, 3);
	g.locks = rng_between(&g.rng, 0, LOCKS);
	g.reads = rng_between(&g.rng, 20, 80);
	g.updates = rng_percent(&g.rng, 80) ? 0 : 20;
	g.shared = rng_percent(&g.rng, 70) ? 0 : 40;
	for (g.thread = 0; g.thread < threads; g.thread++)
		add_thread(&g);
	trace_canonical(t);
}
