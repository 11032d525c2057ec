/*
 * Cycles through three or more transactions, none of which two make alone.
 *
 * Of each transaction only initial reads and final writes count: others matter to
 * pairs only. A cycle t1 ... tn has two of them in each ti, the one through which
 * it is entered and the one through which it is left (they may be the same), and
 * what leaves ti conflicts with what enters the next, and comes before it. It is
 * told where an order of all these exists that the locks allow, as far as can be
 * seen from what is held at each operation and between the two of each
 * transaction. That is necessary for a cycle, not sufficient: none is missed.
 *
 * The budget: 50 million steps of the search, cycles of at most BLOCKS_CYCLE.
 *
 * Who may include this: the files of blocks/.
 */
#ifndef ATOMSAN_ENGINE_BLOCKS_SETS_H
#define ATOMSAN_ENGINE_BLOCKS_SETS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/blocks/blocks.h"

enum { BLOCKS_CYCLE = 6 };

struct blocks_part {
	uint32_t segment, in, out; /* operations */
};

struct blocks_step {
	uint32_t segment, op;
};

struct blocks_cycle {
	struct blocks_part part[BLOCKS_CYCLE]; /* the first is cut by the others */
	uint32_t n;
	struct blocks_step step[2 * BLOCKS_CYCLE]; /* an order of the operations that shows it */
	uint32_t nsteps;
};

struct blocks_sets {
	uint64_t steps;
	bool cut_short;
};

/* Looks for a cycle that cuts each transaction that is not `bad` already; one for each. */
void blocks_sets_find(struct blocks_sets *s, struct segments *u, const bool *bad,
		      void (*tell)(void *arg, const struct blocks_cycle *c), void *arg);

#endif
