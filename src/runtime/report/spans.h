/*
 * Spans: which histories a snapshot copies, and which chunks of each.
 *
 * A snapshot usually goes further back than the cycle needs, and has all threads. That
 * costs too much if the histories are long or many. Then it has only what the reporter
 * needs to find this cycle: what happened since the earliest step, and at most
 * SPAN_THREADS threads. Another path through a thread that is left out may then be
 * missing, so that no block is blamed; but a cycle whose steps show the block to blame
 * shows it here, too.
 *
 * All functions are called with the histories held.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_SPANS_H
#define ATOMSAN_RUNTIME_REPORT_SPANS_H

#include "runtime/history/history.h"
#include "runtime/report/cycle.h"

enum { SPAN_THREADS = 16, SPAN_UNITS = 1 << 16 };

/* How far back a snapshot goes. */
struct reach {
	uint64_t from; /* the report needs all units from this clock on */
	uint64_t wide; /* units from this clock on are copied if the histories still have them */
	uint64_t cut;  /* accesses before this clock are left out; 0: none */
	bool few;      /* only SPAN_THREADS threads are copied */
	const struct cycle *cycle;
	bool whole; /* false: a small snapshot, see snapshot_take() */
};
/* For a cycle that a replay found, `c` has no steps, and there is no limit. */
struct reach reach_of(const struct cycle *c, uint64_t from, bool whole);

/* The chunks of a history from `oldest` to the one being written. */
struct span {
	uint32_t oldest;
	bool far; /* they go back to all that the report needs */
};
struct span span_of(const struct history *h, struct reach reach);

/* Go through the chunks of a span, oldest first. */
#define EACH_CHUNK(k, h, span)                                                                     \
	for (uint32_t k = (span).oldest, last_ = 0; !last_;                                        \
	     last_ = k == (h)->at, k = (k + 1) % (h)->nchunks)

/* Does a history have anything to copy? */
bool span_is_needed(const struct history *h, struct reach reach);

/* Steps before this time of the slot are dead. */
static inline uint64_t span_dead(const struct history *h)
{
	return __atomic_load_n(&slot_public[h->slot].dead, __ATOMIC_ACQUIRE);
}

#endif
