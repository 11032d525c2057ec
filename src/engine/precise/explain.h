/*
 * From "this event closes a cycle" to a finding that a person can check.
 *
 * A precise engine's first pass finds the closing events and keeps nothing else
 * about them. Only where there are any does this module see the trace again,
 * up to the last of them:
 *
 *  - once to find, for each closing event, the cycle as a list of event
 *    numbers, whether a cycle without lock operations exists (rests_on), and
 *    whether the transaction is to blame: not self-serializable, by plain
 *    happens-before on operations;
 *  - once more to look those events up, and emit the findings in order.
 *
 * Steps are taken from the first of these that exists, since a reader should
 * be able to see with the steps alone what the finding claims: a way from the
 * transaction and back into it that follows the order of operations and uses
 * data only; one that uses locks too; one on transactions, data only; one on
 * transactions.
 *
 * Who may include this: the files of precise/ and doublechecker/.
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

/* Remember one, unless this event is there already: an event is one finding. */
void closings_add(struct closings *c, uint64_t event, uint64_t begin, uint32_t thread);

struct explain;

/*
 * `closings` in the trace's order, and stays the caller's. `given` is NULL, or says that they were
 * not found in this trace: what turns out not to close a cycle here is not told.
 */
struct explain *explain_new(const struct closings *closings, const struct frontier_given *given,
			    struct finding_sink *sink);
void explain_take(struct explain *x, const struct batch *b);
/* As an engine's finish(). */
uint64_t explain_finish(struct explain *x);
void explain_free(struct explain *x);

#endif
