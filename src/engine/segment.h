/*
 * Segments: the pieces of what each thread does, for engines that ask how the
 * threads of a run could be interleaved.
 *
 * A segment is one of these:
 *
 *  - A transaction: one execution of an outermost block. Forks, joins and barriers
 *    belong to no segment and end one: a block with one inside is several segments,
 *    each with the label and begin of the block.
 *  - A piece outside blocks (`transaction` is false), from a moment at which the
 *    thread holds no lock to the next such moment. It need not be atomic. All
 *    pieces of one thread and phase together are its non-transactional segment.
 *
 * So a segment lies in one phase of one thread. Two segments can be interleaved
 * only if their phases are concurrent.
 *
 * A segment keeps its relevant operations, in their order: accesses of variables
 * and acquires and releases of locks that take part (contention.h). If the thread
 * holds a lock already when the segment begins, the segment begins with an acquire
 * of that lock (`implied`); a lock that is not released is held to the end of the
 * segment. So a lock held from one segment to the next counts as released between
 * them: this allows more interleavings than really exist, never fewer.
 *
 * Segments are trimmed: between two lock operations, only the first and the last
 * read of a variable are kept, likewise of its writes and of its updates (as far as
 * a small table remembers). Segments without a relevant access are left out.
 *
 * Segments are equal if they have the same operations on the same variables and locks
 * in the same order, the same label and the same phase. One of them is kept, and
 * `times` counts them.
 *
 * Two passes over the trace are needed:
 *
 *	segments_init(&u);
 *	segments_look(&u, batch)   for each batch of the first pass
 *	segments_learned(&u);
 *	segments_record(&u, batch) for each batch of the second
 *	segments_done(&u);         ends the segments that are still open
 *	... u.segment[0 .. u.n), in the order of their ends
 *	segments_drop(&u);
 *
 * Included by: engines that ask what other runs could do.
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
	uint32_t what; /* a lock; of an access, the life of the variable: segments_var() */
	heldset held;  /* all locks that the thread holds before it */
	strref place;
	uint8_t op;
	bool implied; /* an acquire before the segment; `event` and `place` are of that acquire */
};

struct segment {
	uint64_t begin; /* event number of the block's begin, or of the piece's first operation */
	uint64_t times;
	size_t first; /* its operations are u.op[first .. first + n) */
	uint32_t n;
	uint32_t thread;
	uint32_t phase;      /* for segments_concurrent() */
	strref label, place; /* of the begin */
	bool transaction;
	bool unnested; /* it releases a lock that is not the last acquired */
};

/* The block in which a still-held lock was acquired. */
struct segment_origin {
	uint64_t event, begin; /* of the acquire and of the block; begin 0: outside blocks */
	strref label, place;
};

/* A phase that has segments. */
struct segment_phase {
	struct phase at;
	struct phase_clock clock;
};

/* A slot of the hash of segments: `segment` is 1 + its index, 0 if the slot is empty. */
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
	uint64_t events;   /* in the trace: an engine's finish() returns this for the second pass */
	uint64_t seen;     /* segments with a relevant access, equal ones included */
	uint64_t unnested; /* releases of a lock that is not the last acquired */
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

/* Returns the variable of a life, for its name. */
static inline uint32_t segments_var(const struct segments *u, uint32_t life)
{
	return u->contention.var[life];
}

/* Are two phases, by number, concurrent? A phase is not concurrent with itself. */
static inline bool segments_concurrent(const struct segments *u, uint32_t a, uint32_t b)
{
	const struct segment_phase *p = &u->phase[a], *q = &u->phase[b];

	return a != b && !phase_before(p->at, &q->clock) && !phase_before(q->at, &p->clock);
}

/* Returns operation `i` of a segment as an event, and as a step of a finding. */
struct event_ref segments_event_ref(const struct segments *u, const struct segment *t, uint32_t i);
struct finding_step segments_step(const struct segments *u, const struct segment *t, uint32_t i,
				  struct finding *f);
/* Returns the segment as a finding names it; outside blocks it has no label and no begin. */
struct finding_block segments_block(const struct segments *u, const struct segment *t,
				    struct finding *f);

#endif
