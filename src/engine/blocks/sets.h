/*
 * Cycles through three or more transactions that no two of them make alone.
 *
 * Only the initial reads and final writes of a transaction count: the other accesses
 * matter to pairs only. A cycle t1 ... tn has two of them in each ti: the operation
 * by which it enters ti and the one by which it leaves (they may be the same). The
 * operation that leaves ti conflicts with the one that enters the next, and comes
 * before it. A cycle is reported if the locks allow an order of all these, judged by
 * the locks held at each operation and between the two of each transaction. That is
 * necessary for a cycle, not sufficient: no cycle is missed.
 *
 * The budget: 50 million steps of the search, and cycles of at most BLOCKS_CYCLE
 * transactions.
 *
 * Included by: the files of blocks/.
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
	struct blocks_part part[BLOCKS_CYCLE]; /* the others cut the first */
	uint32_t n;
	struct blocks_step step[2 * BLOCKS_CYCLE]; /* the operations, in an order that shows it */
	uint32_t nsteps;
};

struct blocks_sets {
	uint64_t steps;
	bool cut_short;
};

/* Look for one cycle for each transaction that is not `bad` already; call `found` for each found.
 */
void blocks_sets_find(struct blocks_sets *s, struct segments *u, const bool *bad,
		      void (*found)(void *arg, const struct blocks_cycle *c), void *arg);

#endif
