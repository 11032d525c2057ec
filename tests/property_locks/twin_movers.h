/*
 * The brute-force twin of `atomizer` and `reduction`, from the definitions in
 * docs/engines/atomizer.md, docs/engines/reduction.md and src/engine/segment.h.
 *
 * Who may include this: tests/property_locks.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_LOCKS_TWIN_MOVERS_H
#define ATOMSAN_TESTS_PROPERTY_LOCKS_TWIN_MOVERS_H

#include "twin.h"

/* A transaction that must be reported: event numbers from 1. */
struct twin_broken {
	uint64_t begin, event;
};

/* Both return how many; `out` has room for one an event. */
size_t twin_atomizer(const struct twin *t, struct twin_broken *out);
/* SIZE_MAX where a thread holds a lock when a segment begins: that is not judged here. */
size_t twin_reduction(const struct twin *t, struct twin_broken *out);

#endif
