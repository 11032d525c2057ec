/*
 * Feasible schedules: schedules for e1, f and e2 (schedule.h) in which every read sees
 * the write that it saw in the run, with the exceptions of values.h.
 *
 * A closure (closure.h) of e1 and of what comes before f says first what must have
 * happened. If that includes e2 or f there is no feasible schedule. Then these are
 * tried:
 *
 *  - the schedule that was made without regard to values;
 *  - for some points between e1 and e2, called cuts: the closure, with locks, of the
 *    events before the cut and before f, and of what third threads must do before e2,
 *    in the order of the run; then f; then the closure of the events before e2, in the
 *    order of the run as far as locks and values allow it; then e2;
 *  - the same again, but without the writes that reads saw if other writes have the same
 *    value. If a read then sees another value, its write is added, and so on;
 *  - if the trace is short, all orders.
 *
 * Each schedule is executed from the start before it counts.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_FEASIBLE_H
#define ATOMSAN_ENGINE_PREDICT_FEASIBLE_H

#include "engine/predict/closure.h"
#include "engine/predict/values.h"

/* Cuts that are tried: FEASIBLE_CUTS - 3 of them are releases of locks. */
/* A trace is short if it has at most FEASIBLE_SHORT operations that matter. */
/* The second part has at most FEASIBLE_SECOND events, and about as many steps of work. */
/* If several writes have a value, reads are followed to theirs after FEASIBLE_REPAIRS failures. */
enum {
	FEASIBLE_CUTS = 11,
	FEASIBLE_SHORT = 256,
	FEASIBLE_SECOND = 1 << 12,
	FEASIBLE_REPAIRS = 8,
};

struct feasible {
	struct model *model;
	struct closure closure;
	struct values values;
	uint64_t *next_event;     /* by thread: number of its next event */
	bool *blocked;            /* by thread */
	enum model_reads reads;   /* which reads closures follow to their writes */
	struct model_need *early; /* third threads that e2 needs at a position, without locks */
	size_t nearly;
	struct model_need repair[FEASIBLE_REPAIRS]; /* writes that reads must see after all */
	size_t nrepairs;
	uint64_t *target;  /* by thread */
	size_t njumps;     /* parts of model->done that put threads to their marks */
	bool is_short;     /* all orders may be searched */
	uint64_t searched; /* states, in all */
};

struct feasible_goal {
	struct schedule_goal goal;
	uint32_t var;               /* x */
	enum values_alike alike[3]; /* to be tried one after the other */
};

/* The model must be ready, and stays the caller's. `whole`: it has the whole trace. */
void feasible_init(struct feasible *s, struct model *model, bool whole);
void feasible_free(struct feasible *s);

/* Can there be a feasible schedule, as far as the closure decides? */
bool feasible_can_be(struct feasible *s, const struct feasible_goal *goal);
/* Is this schedule feasible? If so, it is in model->done. */
bool feasible_is(struct feasible *s, const struct feasible_goal *goal,
		 const struct model_schedule *schedule);
/* Find a feasible schedule. If this returns true, it is in model->done. */
bool feasible_make(struct feasible *s, const struct feasible_goal *goal);

/* Copy a schedule; the caller frees its `v`. */
struct model_schedule feasible_copy(const struct model_schedule *s);

/* Not for callers: the search alone, with f free to see any write, or not. */
bool feasible_search(struct feasible *s, bool f_is_free);

#endif
