/*
 * Segments: what each thread does in one piece, kept for engines that ask how the
 * segments of a run could be interleaved.
 *
 * A segment is
 *
 *  - a transaction: an outermost block. Fork, join and barrier belong to no segment,
 *    and end one: a block that has them inside is several segments, each with the
 *    block's label and begin;
 *  - or a piece outside blocks, `transaction` false: from a moment at which the
 *    thread holds no lock to the next. It need not be atomic. All pieces of one
 *    thread and phase together are its non-transactional segment.
 *
 * So a segment lies in one phase of one thread. Two segments can be cut through by
 * each other only where their phases are concurrent.
 *
 * Of a segment its relevant operations are kept, in their order: accesses of
 * variables and acquires and releases of locks that take part (contention.h). A lock
 * that the thread holds already when the segment begins is acquired by it all the
 * same, as its first operation (`implied`); one that it does not release is held
 * to its end. So what a thread holds from one segment to the next counts as given
 * back between them: more can happen then than really can, never less.
 *
 * Trimmed: between two lock operations of a segment, only the first and the last
 * of a variable's reads are kept, and so of its writes, and of its updates (as far
 * as a small table remembers). Segments without a relevant access are left out.
 *
 * Of segments with the same operations on the same variables and locks, in the same
 * order, with the same label and in the same phase, one is kept; `times` says how
 * often it ran.
 *
 * It takes two passes:
 *
 *	segments_init(&u);
 *	segments_look(&u, batch) for each of the first pass;
 *	segments_learned(&u);
 *	segments_record(&u, batch) for each of the second;
 *	segments_done(&u);         segments that had no end end here
 *	... u.segment[0 .. u.n), in the order of their ends
 *	segments_drop(&u);
 *
 * Who may include this: engines that ask what other runs could do.
 */
#ifndef ATOMSAN_ENGINE_SEGMENT_H
#define ATOMSAN_ENGINE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/contention.h"
#include "engine/engine.h"
#include "engine/event_ref.h"
#include "engine/heldlocks.h"
#include "engine/phase.h"
#include "trace/event.h"

struct segment_op {
	uint64_t event;
	uint32_t what; /* a lock; of an access the variable's life: segments_var() */
	heldset held;  /* all that the thread holds when it comes to it */
	strref place;
	uint8_t op;
	bool implied; /* an acquire from before the segment: `event` and `place` are those */
};

struct segment {
	uint64_t begin; /* event number: of the block's begin, or of the piece's first operation */
	uint64_t times;
	size_t first; /* its operations are u.op[first .. first + n) */
	uint32_t n;
	uint32_t thread;
	uint32_t phase;      /* for segments_concurrent() */
	strref label, place; /* of the begin */
	bool transaction;
	bool unnested; /* releases a lock that is not the last it acquired */
};

/* The block that a lock was acquired in which a later segment still holds. */
struct segment_origin {
	uint64_t event, begin; /* of the acquire, of the block's begin; 0: in none */
	strref label, place;
};

/* A phase that segments lie in. */
struct segment_phase {
	struct phase at;
	struct phase_clock clock;
};

/* In a hash table: 1 + index, 0 for none. */
struct segment_slot {
	uint32_t hash, segment;
};

struct segments {
	struct segment *segment;
	size_t n, cap;
	struct segment_op *op;
	size_t nops, op_cap;
	struct segment_phase *phase;
	uint32_t nphases;
	size_t phase_cap;
	struct segment_origin *origin;
	size_t norigins, origin_cap;
	struct heldlocks held;
	struct contention contention;
	const struct names *names;
	uint64_t events;   /* in the trace: what finish() returns for a second pass */
	uint64_t seen;     /* segments with something relevant, before identical ones went */
	uint64_t unnested; /* releases of a lock that was not the last acquired */
	/* The rest is for segment.c. */
	struct phases phases;
	struct segment_open *open; /* by thread */
	size_t open_cap;
	struct segment_slot *slot; /* hash of segments */
	size_t nslots;
};

void segments_init(struct segments *u);
void segments_look(struct segments *u, const struct batch *b);
void segments_learned(struct segments *u);
void segments_record(struct segments *u, const struct batch *b);
void segments_done(struct segments *u);
void segments_drop(struct segments *u);

static inline const struct segment_op *segment_ops(const struct segments *u,
						   const struct segment *t)
{
	return u->op + t->first;
}

/* The variable of a life, for its name. */
static inline uint32_t segments_var(const struct segments *u, uint32_t life)
{
	return u->contention.var[life];
}

/* Phases by number. A phase is not concurrent with itself. */
static inline bool segments_concurrent(const struct segments *u, uint32_t a, uint32_t b)
{
	const struct segment_phase *p = &u->phase[a], *q = &u->phase[b];

	return a != b && !phase_before(p->at, &q->clock) && !phase_before(q->at, &p->clock);
}

/* Operation `i` of a segment for a report, and the step of a finding that becomes of it. */
struct event_ref segments_event_ref(const struct segments *u, const struct segment *t, uint32_t i);
struct finding_step segments_step(const struct segments *u, const struct segment *t, uint32_t i,
				  struct finding *f);
/* The segment as a finding names it; outside blocks it has no label and no begin. */
struct finding_block segments_block(const struct segments *u, const struct segment *t,
				    struct finding *f);

#endif
