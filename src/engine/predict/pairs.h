/*
 * The second part of `predict` (the paper's phase II): which witnesses fit together.
 *
 * For each variable, a candidate is a pair of accesses in a transaction of one
 * thread, and an access of another thread that conflicts with both, if the two
 * threads can be there at the same time, as far as their locks (lockhist.h) and
 * forks and joins say. With two variables, the other thread has two accesses as
 * well (two.h). Whether there is a schedule decides in the end (schedule.h).
 *
 * Witnesses of a variable are compared in groups with the same history, so a
 * variable that a lock protects costs one comparison for each two groups, however
 * many threads use it. Two candidates look the same if their findings would have
 * the same fingerprint. Of those, at most PAIRS_TRIES are kept, the ones that end
 * earliest in the trace, unless all are wanted. If there are very many histories,
 * candidates that look the same are compared one after the other, in the order of
 * the trace, until there are enough; and not at all if one lock is held in all of
 * them.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_PAIRS_H
#define ATOMSAN_ENGINE_PREDICT_PAIRS_H

#include "engine/predict/witness.h"

enum { PAIRS_TRIES = 8 };

struct candidate {
	uint32_t pair, single; /* witnesses: e1 and e2; f, or f1 and f2 */
	uint32_t look;         /* equal for candidates that look the same */
};

struct candidates {
	struct candidate *v; /* in the order of their last events */
	size_t n, cap;
	uint32_t nlooks;
	uint64_t compared; /* pairs of witnesses, or of groups of them */
	bool gave_up;      /* there were more to compare */
};

/* Returns the later of e2 and f (or f2): a schedule needs the trace up to this event. */
uint64_t candidate_last(const struct witnesses *w, const struct candidate *c);

/*
 * Fill `out`, which must be empty; the caller frees its `v`. Stops after `most` comparisons, unless
 * that is 0.
 */
void pairs_find(struct witnesses *w, bool all, uint64_t most, struct candidates *out);

#endif
