/*
 * From "this event closes a cycle" to a finding that a person can check.
 *
 * A precise engine's first pass finds the closing events and keeps nothing else
 * about them. Only if there are any, this module reads the trace again, up to the
 * last of them:
 *
 *  - once to find, for each closing event, the cycle as a list of event
 *    numbers, whether a cycle without lock operations exists (rests_on), and
 *    whether the transaction is to blame: not self-serializable, by plain
 *    happens-before on operations;
 *  - once more to look those events up, and emit the findings in order.
 *
 * A reader should be able to check the finding by its steps alone. So the steps are
 * the first of these that exists:
 *
 *  1. a path from the transaction back into it that follows the order of operations
 *     and uses data only;
 *  2. the same, with locks too;
 *  3. a path along transactions, data only;
 *  4. a path along transactions.
 *
 * Included by: the files of precise/ and doublechecker/.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_EXPLAIN_H
#define ATOMSAN_ENGINE_PRECISE_EXPLAIN_H

#include "engine/engine.h"
#include "engine/precise/options.h"

/* An event at which the open transaction of a thread closed a cycle. */
struct closing {
	uint64_t event;
	uint64_t begin; /* of that transaction */
	uint32_t thread;
};

struct closings {
	struct closing *v;
	size_t n, cap;
};

/* Add a closing event, unless it is there already: an event makes one finding. */
void closings_add(struct closings *c, uint64_t event, uint64_t begin, uint32_t thread);

struct explain;

/*
 * `closings` are in the trace's order and stay the caller's. If `given` is not NULL, the cycle was
 * not found in this trace; an event that turns out not to close a cycle here makes no finding.
 */
struct explain *explain_new(const struct closings *closings, const struct frontier_given *given,
			    struct finding_sink *sink);
void explain_take(struct explain *x, const struct batch *b);
/* As an engine's finish(). */
uint64_t explain_finish(struct explain *x);
void explain_free(struct explain *x);

#endif
