/*
 * Which blocks of the segments of a run can be cut by which.
 *
 * Blocks that differ only in their time are one here, so memory and time grow with
 * the number of different blocks of a run. If all points of a variable are under one
 * lock, blocks that hold that lock are not compared at all.
 *
 * Included by: the files of blocks/.
 */
#ifndef ATOMSAN_ENGINE_BLOCKS_JUDGE_H
#define ATOMSAN_ENGINE_BLOCKS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/blocks/blocks.h"
#include "engine/segment.h"

/* An operation of a segment. */
struct blocks_ref {
	uint32_t segment, op;
};

/*
 * An interleaving of a block, the operations `own` of a segment, with one or two
 * operations of another segment. `order` lists the steps: 0 and 1 are the two of
 * `own`, 2 and 3 those of `other`.
 */
struct blocks_cut {
	uint32_t own[2];
	struct blocks_ref other[2]; /* of one thread; the second only if nother is 2 */
	uint8_t nother, nsteps;
	uint8_t order[4];
};

struct blocks_judge {
	struct segments *u;
	struct blocks_walk walk;
	struct blocks_table *points, *windows, *pairs, *partners;
	uint32_t *first_point; /* for each life and part of it: points are sorted by these */
	heldset *guards;       /* of a life: the locks held exclusively at each point */
	uint64_t wide;         /* transactions with too many ends */
	uint64_t given_up;     /* blocks with too many others to compare with */
	uint64_t blocks;       /* different 1v- and 2v-blocks */
};

void blocks_judge_init(struct blocks_judge *j, struct segments *u);
void blocks_judge_free(struct blocks_judge *j);

/* Can a block of this transaction be cut? If so, sets *cut. */
bool blocks_judge_segment(struct blocks_judge *j, const struct segment *t, struct blocks_cut *cut);

#endif
