/*
 * The brute-force twin of the precise engines (velodrome, frontier): what
 * they must say, computed from the definitions and from nothing else.
 *
 * It keeps all pairs of events: n*n bits, three times. No clocks, no "last
 * write", no graph that grows with the trace, no garbage: none of what could
 * be wrong in an engine. Event numbers count from 1, everywhere.
 *
 * Definitions (event.h, CONTRACT.md, Velodrome sections 2 and 4.3):
 *
 *  - conflict: see event.h. OP_NONE conflicts with nothing.
 *  - a happens before b: the transitive closure of "earlier and conflicting".
 *  - a transaction is an outermost block, or an event outside blocks; one that
 *    does not end runs to the end of the trace.
 *  - the prefix 1..k is not serializable: the graph of its transactions, with
 *    an edge A -> B for each pair a in A, b in B != A, a earlier than and in
 *    conflict with b, has a cycle.
 *  - transaction D is not self-serializable in 1..k: there are d, d' in D and
 *    e not in D so that d happens before e and e before d', d' <= k.
 *  - a block of D that is open at k is refuted: it contains such d and d'.
 *  - it rests on data: there still is a cycle when lock operations conflict
 *    within their thread only.
 *
 * Who may include this: tests/property.
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
	/* n rows of n bits: in row b the earlier events a that ... */
	uint64_t *conflict; /* ... conflict with b */
	uint64_t *data;     /* ... do so, not by a lock */
	uint64_t *before;   /* ... happen before b */
	size_t *first;      /* index of the first event of the event's transaction */
};

void twin_init(struct twin *t, const struct event *ev, size_t n);
void twin_free(struct twin *t);

/* The smallest k for which 1..k is not serializable; 0 if there is none. */
uint64_t twin_first_violation(const struct twin *t);

/* Is the transaction of event k on a cycle of 1..k; of one without locks? */
bool twin_on_cycle(const struct twin *t, uint64_t k, bool data_only);

/*
 * Is it event k that cuts its transaction, by data alone: are there d in it and
 * e outside with d before e, e in conflict with k and before no earlier event of
 * the transaction, all without locks?
 */
bool twin_cut_by_data(const struct twin *t, uint64_t k);

/* The begin of the transaction of event k; 0 where that is outside blocks. */
uint64_t twin_begin(const struct twin *t, uint64_t k);

/* Is the transaction of event k not self-serializable in 1..k? */
bool twin_blamed(const struct twin *t, uint64_t k);

/*
 * The blocks of event k's transaction that are open at k and refuted in 1..k,
 * outermost first, by the event numbers of their begins. `begins` has room for
 * `k` of them. Returns how many.
 */
size_t twin_refuted(const struct twin *t, uint64_t k, uint64_t *begins);

/*
 * Are these steps a cycle of transactions, closed by event k? They start and
 * end in the transaction of k, the last one is k, at least one is outside, and
 * from each to the next there is a conflict, the earlier first, or both belong
 * to one transaction. Returns NULL, or what is wrong.
 */
const char *twin_check_cycle(const struct twin *t, uint64_t k, const uint64_t *steps,
			     size_t nsteps);

/* Does event a come before event b and conflict with it? */
bool twin_conflict(const struct twin *t, uint64_t a, uint64_t b);
bool twin_same_transaction(const struct twin *t, uint64_t a, uint64_t b);

#endif
