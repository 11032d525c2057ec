/*
 * The brute-force twin of the precise engines (velodrome, frontier,
 * doublechecker): the answers that they must give, computed directly from the
 * definitions.
 *
 * It keeps all pairs of events: n*n bits, three times. It has no clocks, no "last
 * write", no graph that grows with the trace, no garbage collection: nothing that
 * could be wrong in an engine. Event numbers count from 1 everywhere.
 *
 * Definitions (trace/event.h; Flanagan, Freund, Yi: Velodrome, PLDI 2008,
 * sections 2 and 4.3):
 *
 *  - conflict: as in trace/event.h. OP_NONE conflicts with nothing.
 *  - a happens before b: the transitive closure of "a is earlier than b and
 *    conflicts with b".
 *  - transaction: an outermost block with all its thread's events in it, from its
 *    begin to its end or, if it does not end, to the end of the trace; or one
 *    event outside blocks.
 *  - the prefix 1..k is not serializable: the graph of its transactions has a
 *    cycle. The graph has an edge A -> B, A != B, for each a in A and b in B such
 *    that a is earlier than b and conflicts with b.
 *  - transaction D is not self-serializable in 1..k, that is, D is to blame: there
 *    are d, d' in D and e not in D such that d happens before e, e happens before
 *    d', and d' <= k.
 *  - a block of D that is open at k (the end of a block is inside it) is refuted:
 *    it contains such d and d'.
 *  - a violation rests on data: there still is a cycle if operations on one lock
 *    by two threads do not conflict.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TWIN_H
#define ATOMSAN_TESTS_PROPERTY_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct twin {
	const struct event *ev; /* ev[0] is event 1; must outlive the twin */
	size_t n, words;
	/* n rows of n bits: row b has the earlier events a that ... */
	uint64_t *conflict; /* ... conflict with b */
	uint64_t *data;     /* ... conflict with b, and not only by a lock */
	uint64_t *before;   /* ... happen before b */
	size_t *first;      /* for each event, the index of its transaction's first event */
};

void twin_init(struct twin *t, const struct event *ev, size_t n);
void twin_free(struct twin *t);

/* Returns the smallest k for which 1..k is not serializable; 0 if there is none. */
uint64_t twin_first_violation(const struct twin *t);

/* Is the transaction of event k on a cycle in 1..k? `data_only`: on a cycle without locks? */
bool twin_on_cycle(const struct twin *t, uint64_t k, bool data_only);

/*
 * Does event k cut its transaction by data alone? That is: are there d in the
 * transaction and e outside such that d happens before e, e conflicts with k, and
 * e happens before no event of the transaction that is earlier than k, all
 * without conflicts by locks?
 */
bool twin_cut_by_data(const struct twin *t, uint64_t k);

/* Returns the begin of the transaction of event k; 0 if k is outside blocks. */
uint64_t twin_begin(const struct twin *t, uint64_t k);

/* Is the transaction of event k not self-serializable in 1..k? */
bool twin_blamed(const struct twin *t, uint64_t k);

/*
 * Finds the blocks of event k's transaction that are open at k and refuted in
 * 1..k. Stores the event numbers of their begins in `begins`, outermost first, and
 * returns how many there are. `begins` has room for k of them.
 */
size_t twin_refuted(const struct twin *t, uint64_t k, uint64_t *begins);

/*
 * Are these steps a cycle of transactions that event k closes? The first and the
 * last step must be in the transaction of k, the last must be k, and at least one
 * must be outside the transaction. Each step and the next must either conflict,
 * with the earlier event first, or belong to the same transaction. Returns NULL,
 * or a sentence that says what is wrong.
 */
const char *twin_check_cycle(const struct twin *t, uint64_t k, const uint64_t *steps,
			     size_t nsteps);

/* Is event a earlier than event b, and does it conflict with b? */
bool twin_conflict(const struct twin *t, uint64_t a, uint64_t b);
bool twin_same_transaction(const struct twin *t, uint64_t a, uint64_t b);

#endif
