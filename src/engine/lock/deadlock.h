/*
 * The two halves of the engine `deadlock`: deadlock.c collects wishes during the
 * pass over the trace, deadlock_find.c then searches them for cycles.
 * docs/engines/deadlock.md defines what is found.
 *
 * A wish is an acquire by a thread that already holds a lock. Acquires of the same
 * thread and phase, with the same locks held and wanted in the same ways, are one
 * wish, and the first of them is kept.
 *
 * Included by: deadlock*.c.
 */
#ifndef ATOMSAN_ENGINE_LOCK_DEADLOCK_H
#define ATOMSAN_ENGINE_LOCK_DEADLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event_ref.h"
#include "engine/heldlocks.h"
#include "engine/phase.h"

struct deadlock_wish {
	struct event_ref at;
	struct phase phase;
	uint32_t clock; /* index into `clocks` */
	heldset set;    /* the locks held; never empty */
	held want;
	size_t outer; /* where deadlock.c has the acquire of the set's first lock; the others follow
		       */
};

struct deadlock_wishes {
	const struct heldlocks *held;
	const struct deadlock_wish *v;
	uint32_t n;
	const struct phase_clock *clocks;
};

/*
 * A cycle: wish i holds lock i, among others, and wants lock i + 1; the last
 * wants the first. Lock 0 has the smallest number.
 */
struct deadlock_cycle {
	const uint32_t *wish, *lock;
	uint32_t n;
};

/*
 * The budget: the search ends after this many cycles, or after this many steps (a
 * comparison of two wishes, or an edge in the graph of locks).
 */
enum { DEADLOCK_CYCLES_MAX = 1000, DEADLOCK_STEPS_MAX = 100 * 1000 * 1000 };

/* Call `found` for each cycle of locks, shorter ones first. Returns false if the budget ended it.
 */
bool deadlock_find(const struct deadlock_wishes *w,
		   void (*found)(void *arg, const struct deadlock_cycle *c), void *arg);

#endif
