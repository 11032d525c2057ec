/*
 * The inside of random_trace: what a seed has drawn, and the state of the trace
 * so far, which keeps it legal.
 *
 * C leaves open in which order a call's arguments are computed, and a seed must
 * mean one trace for every compiler: no call has two draws among its arguments.
 *
 * Who may include this: random_*.c.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_RANDOM_GEN_H
#define ATOMSAN_TESTS_PROPERTY_RANDOM_GEN_H

#include "rng.h"
#include "trace.h"

enum { MAX_THREADS = 6, MAX_CROWD = 40, MAX_VARS = 4, MAX_LOCKS = 3 };

/* Drawn once a seed. */
struct mix {
	unsigned threads, vars, locks, length;
	bool crowd;           /* threads come and go */
	unsigned depth;       /* of nested blocks */
	unsigned stay_inside; /* percent: the thread in a block goes on */
	unsigned stay_outside;
	unsigned own;    /* percent of accesses that are to the thread's own variable */
	unsigned shared; /* percent of acquires that are shared */
	unsigned repeat; /* percent of acquires that repeat one */
	unsigned brawl;  /* percent of shapes that are brawls */
	unsigned shape;  /* percent of turns that are a shape */
	unsigned noise;  /* percent of a shape's steps that another event precedes */
	unsigned tidy;   /* percent: a thread that ends closes its blocks first */
	unsigned weight[OP_COUNT];
};

struct gen_thread {
	bool waits_for_fork, dead;
	unsigned depth;
	unsigned held[MAX_LOCKS]; /* how often */
	bool shared[MAX_LOCKS];   /* in which way, where held */
};

struct gen {
	struct rng rng;
	struct mix mix;
	struct gen_thread thread[MAX_CROWD];
	struct trace *out;
	uint32_t last; /* the thread that had the last turn */
};

static inline bool gen_full(const struct gen *g)
{
	return g->out->n >= g->mix.length;
}

/* May the thread have an event now? */
static inline bool gen_runs(const struct gen *g, uint32_t t)
{
	return !g->thread[t].dead && !g->thread[t].waits_for_fork;
}

uint32_t gen_thread(struct gen *g); /* one that runs */
uint32_t gen_var(struct gen *g, uint32_t t);

/* One event, or none where it is not possible now. */
void gen_emit(struct gen *g, uint32_t t, enum op op, uint32_t operand);
/* An access of some variable, `reads` percent of them reads. */
void gen_access(struct gen *g, uint32_t t, unsigned reads);
/* The next thread that waits to be forked; mix.threads if there is none. */
uint32_t gen_next_child(const struct gen *g);
/* Fork it. */
void gen_fork(struct gen *g, uint32_t t);
/* The child, which has been forked or never will be, is done from now on. */
void gen_join(struct gen *g, uint32_t t, uint32_t child);
/* Close all blocks of the thread. */
void gen_leave(struct gen *g, uint32_t t);

/* Some event of some thread, as the mix has it. */
void gen_turn(struct gen *g);
/* A shape, see random_shapes.c. */
void gen_shape(struct gen *g);

#endif
