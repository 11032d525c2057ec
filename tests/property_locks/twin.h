/*
 * The brute-force twin of `lockset` and `deadlock`: the answers that they must give,
 * computed directly from the definitions:
 *
 *  - docs/engines/lockset.md: a variable's reigns and guards, and which access is a
 *    finding;
 *  - docs/engines/deadlock.md: the three conditions for a deadlock;
 *  - src/engine/phase.h: which events must come before which, and so which are
 *    concurrent.
 *
 * It examines all pairs of events. It has no clocks, no slots, no numbered sets of
 * locks and no "last access".
 *
 * Included by: tests/property_locks.
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
	uint8_t (*held)[TWIN_LOCKS]; /* by event: how its thread holds each lock just before it */
};

/* At most TWIN_LOCKS locks. */
void twin_init(struct twin *t, const struct event *ev, size_t n);
void twin_free(struct twin *t);

bool twin_concurrent(const struct twin *t, size_t a, size_t b);
/* Is some lock held at both events, and exclusively at one of them or both? */
bool twin_exclude(const struct twin *t, size_t a, size_t b);

/* Returns the event, from 1, at which there must be a finding about this variable; 0: none. */
uint64_t twin_lockset(const struct twin *t, uint32_t var);
/* Can a finding at `event` name `other` as the other access? */
bool twin_lockset_other(const struct twin *t, uint64_t other, uint64_t event);

/* A lock cycle, beginning with its smallest lock. */
struct twin_cycle {
	uint32_t lock[TWIN_LOCKS];
	uint32_t n;
};
/* Stores all lock cycles that can deadlock, each once. Returns how many, at most TWIN_CYCLES. */
size_t twin_deadlocks(const struct twin *t, struct twin_cycle *out);

#endif
