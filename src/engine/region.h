/*
 * Regions of functions that are no blocks.
 *
 * main(), start functions and functions that wait are not one block, but what they
 * do is not meaningless either. This module splits their code into regions:
 *
 *  - A region consists of what one function does itself, and the blocks that it
 *    calls.
 *  - It ends when the thread waits, joins, creates a thread or passes a barrier, and
 *    when another function that is no block is called or returns: a *stretch*.
 *  - It ends before an operation or call that it already had, at the same spot in the
 *    source: the function is in a loop, and the next *round* begins. (Compilers unroll
 *    loops, so the program counter may differ. One instruction or statement that
 *    accesses several variables is no loop.)
 *
 * Functions that a rule excludes, or that the source declares not atomic, have no
 * regions. Only recorded runs have places that say in which function an event
 * happened, so other traces have no regions.
 *
 * Included by: engines, refine_learn.c.
 */
#ifndef ATOMSAN_ENGINE_REGION_H
#define ATOMSAN_ENGINE_REGION_H

#include "base/map.h"
#include "engine/engine.h"

/* The open region of a thread. */
struct region {
	uint32_t id;    /* 0: none is open; each region of a trace has another number */
	uint64_t begin; /* event number */
	strref label;   /* of the function */
	strref place;   /* of its first event */
	bool is_round;  /* it began because a loop came back */
	strref call;    /* where the function was called */
	uint64_t spot;  /* of its last event: spot_of() */
	uint32_t operand;
};

struct region_place {
	strref call;   /* the place of the call of the function that has this place */
	uint32_t spot; /* equal for places at the same source line and column; 0: not known */
};

struct regions {
	struct region *thread;
	struct region_place *place; /* by strref */
	struct map spots;           /* hash of lines and columns -> spot */
	struct map seen;            /* (spot_of(), thread) -> the last region that had it */
	struct map called; /* (place, thread) -> the function called there last; 0: excluded */
	size_t thread_cap, place_cap;
	uint32_t last;
	bool recorded;
};

/*
 * Returns a hash of a place's line and column in its function, and of those that it was inlined
 * at: equal for copies that the compiler made of one statement. Without debug information every
 * place differs.
 */
uint64_t region_hash_of_source(const struct names *names, strref place);

/* Call this for each batch before its events. */
void regions_prepare(struct regions *r, const struct batch *b);
void regions_free(struct regions *r);

/* Not for callers: an event outside blocks, or a begin or end. */
void region_take_slow(struct regions *r, const struct batch *b, const struct event *e,
		      uint64_t event);

/*
 * Call this for each event, before the engine takes it. `in_block`: the thread is in a block.
 * Afterwards r->thread[e->thread] is the region that the event is in.
 */
static inline void region_take(struct regions *r, const struct batch *b, const struct event *e,
			       uint64_t event, bool in_block)
{
	if (r->recorded && (!in_block || e->op == OP_BEGIN || e->left_out))
		region_take_slow(r, b, e, event);
}

#endif
