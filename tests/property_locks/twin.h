/*
 * The brute-force twin of `lockset` and `deadlock`: what they must say, from the
 * definitions in docs/engines/lockset.md, docs/engines/deadlock.md and
 * src/engine/phase.h, and from nothing else. It keeps all pairs of events and
 * looks at all of them: no clocks, no slots, no numbered sets, no last accesses.
 *
 * Who may include this: tests/property_locks.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_LOCKS_TWIN_H
#define ATOMSAN_TESTS_PROPERTY_LOCKS_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

/* How a lock is held. */
enum { FREE, EXCLUSIVELY, IN_SHARE };
enum { TWIN_LOCKS = 16, TWIN_CYCLES = 4096 };

struct twin {
	const struct event *ev; /* ev[0] is event 1; indexes here count from 0 */
	size_t n;
	bool *before;                /* before[a * n + b]: a must come before b */
	uint8_t (*held)[TWIN_LOCKS]; /* by the event's thread, when it comes to the event */
};

/* At most TWIN_LOCKS locks. */
void twin_init(struct twin *t, const struct event *ev, size_t n);
void twin_free(struct twin *t);

bool twin_concurrent(const struct twin *t, size_t a, size_t b);
/* Does a lock, held at one of these events at least exclusively, keep the two apart? */
bool twin_exclude(const struct twin *t, size_t a, size_t b);

/* The event, from 1, at which there must be a finding about this variable; 0 where there is none.
 */
uint64_t twin_lockset(const struct twin *t, uint32_t var);
/* Can that other event be named with it? */
bool twin_lockset_other(const struct twin *t, uint64_t other, uint64_t event);

/* Lock cycles, each once, beginning with its smallest lock. */
struct twin_cycle {
	uint32_t lock[TWIN_LOCKS];
	uint32_t n;
};
/* Returns how many; TWIN_CYCLES where there are more than that. */
size_t twin_deadlocks(const struct twin *t, struct twin_cycle *out);

#endif
