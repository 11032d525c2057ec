/*
 * Movers, and the pattern that makes a block atomic (Lipton 1975): R* N? L*.
 *
 *	R  right-mover   may be done later: an acquire
 *	L  left-mover    may have been done earlier: a release
 *	B  both-mover    an access that cannot race
 *	N  non-mover     an access that can
 *
 * Right-movers can be moved later, up to the one operation that does not move;
 * left-movers can be moved earlier, down to it. So a block of that form is
 * equivalent to one step. `atomizer` and `reduction` differ in what they know about
 * an operation.
 *
 * A mover_run follows one block, and keeps what a finding shows of it: the first and
 * the last operations, and the operation that ended the right-movers.
 *
 * Included by: atomizer.c, reduction.c.
 */
#ifndef ATOMSAN_ENGINE_LOCK_MOVER_H
#define ATOMSAN_ENGINE_LOCK_MOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/event_ref.h"
#include "engine/finding.h"
#include "engine/heldlocks.h"
#include "trace/names.h"

enum mover { MOVER_B, MOVER_R, MOVER_L, MOVER_N };

struct mover_op {
	struct event_ref at;
	heldset held; /* before the operation */
	enum mover mover;
};

enum { MOVER_FIRST = 12, MOVER_LAST = 12 };

struct mover_run {
	bool left;   /* only left-movers can follow */
	bool broken; /* another operation followed */
	uint64_t n;
	struct mover_op turn;
	uint64_t turn_at;                                     /* its position in the block */
	struct mover_op first[MOVER_FIRST], last[MOVER_LAST]; /* last[i % MOVER_LAST] */
};

static inline void mover_begin(struct mover_run *r)
{
	r->left = r->broken = false;
	r->n = 0;
}

/* Take an operation. Returns false if it is the first of its block to break the pattern. */
bool mover_take(struct mover_run *r, enum mover mover, const struct event_ref *at, heldset under);

/*
 * Make the finding for a block whose last operation broke the pattern. The steps are
 * its operations, that one last; `pattern` has the mover of each step.
 */
struct finding *mover_describe(const struct mover_run *r, const struct names *names,
			       const struct heldlocks *locks);

#endif
