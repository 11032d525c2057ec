/*
 * The brute-force twin of `atomizer` and `reduction`: the answers that they must
 * give, computed directly from the definitions of what takes part, of movers and of
 * the pattern in docs/engines/atomizer.md and docs/engines/reduction.md, and of
 * segments in src/engine/segment.h.
 *
 * Included by: tests/property_locks.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_LOCKS_TWIN_MOVERS_H
#define ATOMSAN_TESTS_PROPERTY_LOCKS_TWIN_MOVERS_H

#include "twin.h"

/* A transaction that must be reported: event numbers from 1. */
struct twin_broken {
	uint64_t begin, event;
};

/* Both store the transactions and return how many; `out` has room for one for each event. */
size_t twin_atomizer(const struct twin *t, struct twin_broken *out);
/* Returns SIZE_MAX if a thread holds a lock when a segment begins: the twin does not judge that. */
size_t twin_reduction(const struct twin *t, struct twin_broken *out);

#endif
