/*
 * Phase II of `predict`: which witnesses fit together.
 *
 * For each variable, a pair of accesses in a transaction of one thread and an
 * access of another thread that conflicts with both make a candidate, where
 * the two threads can stand there together: as far as their locks tell
 * (lockhist.h), and as far as forks and joins do. For each two variables, the
 * other has two accesses as well (two.h). A schedule then decides
 * (schedule.h).
 *
 * Witnesses of a variable are compared in groups of one history, so that a
 * variable that a lock protects costs one answer for each two groups, however
 * many threads use it. Two candidates look the same where their
 * findings would have one fingerprint. Of those PAIRS_TRIES at most are kept,
 * the ones that the trace is soonest over with, unless all are wanted. Where there are very many
 * histories, those that look the same are compared one after the other, in the order of the trace,
 * until there are enough; and not at all where a lock is held in all of them.
 *
 * Who may include this: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_PAIRS_H
#define ATOMSAN_ENGINE_PREDICT_PAIRS_H

#include "engine/predict/witness.h"

enum { PAIRS_TRIES = 8 };

struct candidate {
	uint32_t pair, single; /* witnesses: e1 and e2; f, or f1 and f2 */
	uint32_t look;         /* the same for those that look the same */
};

struct candidates {
	struct candidate *v; /* in the order of their last events */
	size_t n, cap;
	uint32_t nlooks;
	uint64_t compared; /* pairs of witnesses, or of groups of them */
	bool gave_up;      /* there were more to compare */
};

/* The later one of e2 and f, or f2: so much of the trace is needed for a schedule. */
uint64_t candidate_last(const struct witnesses *w, const struct candidate *c);

/* `out` is empty before; free its `v`. After `most` comparisons it is enough; 0: it never is. */
void pairs_find(struct witnesses *w, bool all, uint64_t most, struct candidates *out);

#endif
