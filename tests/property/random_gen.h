/*
 * The internals of random_trace: what the seed has chosen, and the state of the
 * trace so far, which keeps the trace legal.
 *
 * A seed must give the same trace with every compiler, but C does not define the
 * order in which a call's arguments are evaluated. So no call draws more than one
 * random number in its arguments.
 *
 * Included by: random_*.c.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_RANDOM_GEN_H
#define ATOMSAN_TESTS_PROPERTY_RANDOM_GEN_H

#include "rng.h"
#include "trace.h"

enum { MAX_THREADS = 6, MAX_CROWD = 40, MAX_VARS = 4, MAX_LOCKS = 3 };

/* Chosen once for each seed. */
struct mix {
	unsigned threads, vars, locks, length;
	bool crowd;     /* whether threads come and go */
	unsigned depth; /* most blocks that may be nested */
	unsigned
		stay_inside; /* percent of turns in a block after which the same thread continues */
	unsigned stay_outside; /* the same outside blocks */
	unsigned own;          /* percent of accesses that are to the thread's own variable */
	unsigned shared;       /* percent of acquires that are shared */
	unsigned repeat;       /* percent of acquires that may repeat a lock already held */
	unsigned brawl;        /* percent of shapes that are brawls */
	unsigned shape;        /* percent of turns that are a shape */
	unsigned noise;        /* percent of a shape's steps that another event precedes */
	unsigned tidy; /* percent of threads that release and end everything before a join */
	unsigned weight[OP_COUNT];
};

struct gen_thread {
	bool waits_for_fork, dead;
	unsigned depth;
	unsigned held[MAX_LOCKS]; /* how often the thread has acquired it */
	bool shared[MAX_LOCKS];   /* whether a held lock is held in shared mode */
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

/* Can the thread have an event now? */
static inline bool gen_runs(const struct gen *g, uint32_t t)
{
	return !g->thread[t].dead && !g->thread[t].waits_for_fork;
}

uint32_t gen_thread(struct gen *g);          /* returns a random thread that runs */
uint32_t gen_var(struct gen *g, uint32_t t); /* returns a random variable for thread t */

/* Adds one event, or none if it is not possible now. */
void gen_emit(struct gen *g, uint32_t t, enum op op, uint32_t operand);
/* Adds an access to a random variable; it is a read with a probability of `reads` percent. */
void gen_access(struct gen *g, uint32_t t, unsigned reads);
/* Returns the next thread that waits to be forked; mix.threads if there is none. */
uint32_t gen_next_child(const struct gen *g);
/* Thread t forks that thread. */
void gen_fork(struct gen *g, uint32_t t);
/* Thread t joins the child, unless that waits for its fork; the child has no further events. */
void gen_join(struct gen *g, uint32_t t, uint32_t child);
/* Ends all blocks of the thread. */
void gen_leave(struct gen *g, uint32_t t);

/* Adds a random event of a random thread, by the weights of the mix. */
void gen_turn(struct gen *g);
/* Adds a shape; see random_shapes.c. */
void gen_shape(struct gen *g);

#endif
