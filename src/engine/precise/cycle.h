/*
 * Cycles as event numbers: what cycle_find.c finds and cycle_describe.c makes findings from.
 *
 * Included by: explain.c, cycle_find.c, cycle_describe.c.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_CYCLE_H
#define ATOMSAN_ENGINE_PRECISE_CYCLE_H

#include "engine/engine.h"
#include "engine/precise/explain.h"

struct cycle {
	struct closing closing;
	enum finding_rests_on rests_on;
	bool blamed;
	bool as_given;   /* the steps are those that the caller gave */
	uint64_t *steps; /* events, the closing one last */
	uint32_t nsteps; /* 0: it was given, but is no cycle in this trace */
	uint32_t nrefuted;
	uint64_t *refuted; /* begins of the refuted blocks, outermost first */
};

/* cycle_find.c: find a cycle for each closing event, in the same order. */
struct cycle_find *cycle_find_new(const struct closings *closings,
				  const struct frontier_given *given);
void cycle_find_take(struct cycle_find *f, const struct batch *b);
/* Returns the array, which is the caller's; frees the rest. */
struct cycle *cycle_find_done(struct cycle_find *f);
void cycles_free(struct cycle *v, size_t n);

/* cycle_describe.c: look up the events, and emit the findings. */
struct cycle_describe *cycle_describe_new(const struct cycle *v, size_t n,
					  struct finding_sink *sink);
void cycle_describe_take(struct cycle_describe *t, const struct batch *b);
void cycle_describe_free(struct cycle_describe *t);

#endif
