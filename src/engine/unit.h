/*
 * Units: what each thread does in one piece, kept for engines that ask how the
 * units of a run could be interleaved.
 *
 * A unit is
 *
 *  - a transaction: an outermost block. Fork, join and barrier belong to no unit,
 *    and end one: a block that has them inside is several units, each with the
 *    block's label and begin;
 *  - or a piece outside blocks, `transaction` false: from a moment at which the
 *    thread holds no lock to the next. It need not be atomic. All pieces of one
 *    thread and period together are its non-transactional unit.
 *
 * So a unit lies in one period of one thread. Two units can be cut through by
 * each other only where their periods are concurrent.
 *
 * Of a unit its relevant operations are kept, in their order: accesses of
 * variables and acquires and releases of locks that take part (share.h). A lock
 * that the thread holds already when the unit begins is acquired by it all the
 * same, as its first operation (`implied`); one that it does not release is held
 * to its end. So what a thread holds from one unit to the next counts as given
 * back between them: more can happen then than really can, never less.
 *
 * Trimmed: between two lock operations of a unit, only the first and the last
 * of a variable's reads are kept, and so of its writes, and of its updates (as far
 * as a small table remembers). Units without a relevant access are left out.
 *
 * Of units with the same operations on the same variables and locks, in the same
 * order, with the same label and in the same period, one is kept; `times` says how
 * often it ran.
 *
 * It takes two passes:
 *
 *	units_init(&u);
 *	units_look(&u, batch) for each of the first pass;
 *	units_learned(&u);
 *	units_record(&u, batch) for each of the second;
 *	units_done(&u);         units that had no end end here
 *	... u.unit[0 .. u.n), in the order of their ends
 *	units_drop(&u);
 *
 * Who may include this: engines that ask what other runs could do.
 */
#ifndef ATOMSAN_ENGINE_UNIT_H
#define ATOMSAN_ENGINE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/heldlocks.h"
#include "engine/period.h"
#include "engine/share.h"
#include "engine/sighting.h"
#include "trace/event.h"

struct unit_op {
	uint64_t event;
	uint32_t what; /* a lock; of an access the variable's life: units_var() */
	heldset held;  /* all that the thread holds when it comes to it */
	strref place;
	uint8_t op;
	bool implied; /* an acquire from before the unit: `event` and `place` are those */
};

struct unit {
	uint64_t begin; /* event number: of the block's begin, or of the piece's first operation */
	uint64_t times;
	size_t first; /* its operations are u.op[first .. first + n) */
	uint32_t n;
	uint32_t thread;
	uint32_t period;     /* for units_concurrent() */
	strref label, place; /* of the begin */
	bool transaction;
	bool unnested; /* releases a lock that is not the last it acquired */
};

/* The block that a lock was acquired in which a later unit still holds. */
struct unit_origin {
	uint64_t event, begin; /* of the acquire, of the block's begin; 0: in none */
	strref label, place;
};

/* A period that units lie in. */
struct unit_period {
	struct period at;
	struct period_clock clock;
};

/* In a hash table: 1 + index, 0 for none. */
struct unit_slot {
	uint32_t hash, unit;
};

struct units {
	struct unit *unit;
	size_t n, cap;
	struct unit_op *op;
	size_t nops, op_cap;
	struct unit_period *period;
	uint32_t nperiods;
	size_t period_cap;
	struct unit_origin *origin;
	size_t norigins, origin_cap;
	struct heldlocks held;
	struct shares shares;
	const struct names *names;
	uint64_t events;   /* in the trace: what finish() returns for a second pass */
	uint64_t seen;     /* units with something relevant, before identical ones went */
	uint64_t unnested; /* releases of a lock that was not the last acquired */
	/* The rest is for unit.c. */
	struct periods periods;
	struct unit_open *open; /* by thread */
	size_t open_cap;
	struct unit_slot *slot; /* hash of units */
	size_t nslots;
};

void units_init(struct units *u);
void units_look(struct units *u, const struct batch *b);
void units_learned(struct units *u);
void units_record(struct units *u, const struct batch *b);
void units_done(struct units *u);
void units_drop(struct units *u);

static inline const struct unit_op *unit_ops(const struct units *u, const struct unit *t)
{
	return u->op + t->first;
}

/* The variable of a life, for its name. */
static inline uint32_t units_var(const struct units *u, uint32_t life)
{
	return u->shares.var[life];
}

/* Periods by number. A period is not concurrent with itself. */
static inline bool units_concurrent(const struct units *u, uint32_t a, uint32_t b)
{
	const struct unit_period *p = &u->period[a], *q = &u->period[b];

	return a != b && !period_before(p->at, &q->clock) && !period_before(q->at, &p->clock);
}

/* Operation `i` of a unit for a report, and the step of a finding that becomes of it. */
struct sighting units_sighting(const struct units *u, const struct unit *t, uint32_t i);
struct finding_step units_step(const struct units *u, const struct unit *t, uint32_t i,
			       struct finding *f);
/* The unit as a finding names it; outside blocks it has no label and no begin. */
struct finding_block units_block(const struct units *u, const struct unit *t, struct finding *f);

#endif
