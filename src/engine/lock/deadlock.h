/*
 * The two halves of the engine `deadlock`: deadlock.c collects wishes while the
 * trace goes by, deadlock_find.c searches them for cycles when it has ended.
 * docs/engines/deadlock.md defines what is found.
 *
 * A wish is an acquire by a thread that holds something already. Those of the
 * same thread and phase, with the same locks held and wanted in the same ways,
 * are one wish, and the first of them is kept.
 *
 * Who may include this: deadlock*.c.
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
	uint32_t clock; /* which of the clocks */
	heldset set;    /* held; never empty */
	held want;
	size_t outer; /* outer[i] is where the i-th of the set was acquired */
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
 * The budget: the search ends with so many cycles, or after so many steps (a
 * comparison of two wishes, or an edge of the graph of locks looked at).
 */
enum { DEADLOCK_CYCLES_MAX = 1000, DEADLOCK_STEPS_MAX = 100 * 1000 * 1000 };

/* Calls `found` for each lock cycle, shorter ones first. Returns false where the budget ended it.
 */
bool deadlock_find(const struct deadlock_wishes *w,
		   void (*found)(void *arg, const struct deadlock_cycle *c), void *arg);

#endif
