/*
 * Which blocks of the segments of a run can be cut by which.
 *
 * Blocks that differ in nothing but their time are one here, so what is stored
 * and compared grows with the different blocks of a run. Points that all others
 * make under one lock keep the blocks that hold it out of this altogether.
 *
 * Who may include this: the files of blocks/.
 */
#ifndef ATOMSAN_ENGINE_BLOCKS_JUDGE_H
#define ATOMSAN_ENGINE_BLOCKS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/blocks/blocks.h"
#include "engine/segment.h"

/* Someone's operation. */
struct blocks_ref {
	uint32_t segment, op;
};

/*
 * An interleaving of a block, operations `own` of some segment, with one or two of
 * another's: `order` has a step a bit pair, 0 and 1 for own, 2 and 3 for other's.
 */
struct blocks_cut {
	uint32_t own[2];
	struct blocks_ref other[2]; /* two of one thread; the second only where nother is 2 */
	uint8_t nother, nsteps;
	uint8_t order[4];
};

struct blocks_judge {
	struct segments *u;
	struct blocks_walk walk;
	struct blocks_table *points, *windows, *pairs, *partners;
	uint32_t *first_point; /* of each life and part of it: points are sorted so */
	heldset *guards;       /* of a life: held exclusively at each point */
	uint64_t wide;         /* transactions with too many ends */
	uint64_t given_up;     /* blocks with too many others to compare with */
	uint64_t blocks;       /* 1v and 2v, different ones */
};

void blocks_judge_init(struct blocks_judge *j, struct segments *u);
void blocks_judge_free(struct blocks_judge *j);

/* Can a block of this transaction be cut? If so tells how. */
bool blocks_judge_segment(struct blocks_judge *j, const struct segment *t, struct blocks_cut *cut);

#endif
