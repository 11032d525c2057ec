/*
 * The model on which `predict` makes and executes schedules: each thread's own
 * events in their order, and what must hold for the next of them to happen.
 *
 *  - A lock is free, or held shared and acquired shared.
 *  - fork(T) comes before T's first event; all of T's events that the run had
 *    before join(T) come before that.
 *  - Who has passed a barrier for the k-th time goes on when all threads that
 *    in the run passed it k times have come to theirs.
 *  - wait and notify of one condition variable happen in the order in which
 *    the run had them. This forbids more than a real run does, so nothing is
 *    reported that it would make impossible.
 *
 * Values are not in it: a branch that another order of reads and writes would
 * have taken is not seen. Semaphores are locks in a trace.
 *
 * A position counts the thread's events: at position p, events 0 .. p-1 of it
 * have happened. Only operations on locks and what is listed above are kept one
 * by one; of the others, just their numbers, as runs of consecutive events.
 *
 * Who may include this: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_MODEL_H
#define ATOMSAN_ENGINE_PREDICT_MODEL_H

#include "engine/engine.h"
#include "base/map.h"

struct model_run {
	uint64_t event, at; /* event number, position in the thread */
};

struct model_lock_op {
	uint64_t at;
	uint32_t lock;
	bool acquire, exclusive;
};

/*
 * Event `at` of the thread needs another thread to be at `position` or further;
 * where that is MODEL_ROUND, all those of the barrier's round `position`.
 */
struct model_need {
	uint64_t at, position;
	uint32_t thread;
};
#define MODEL_ROUND UINT32_MAX

struct model_held {
	uint32_t lock;
	bool exclusive;
};

struct model_thread {
	struct model_run *run;
	struct model_lock_op *op;
	struct model_need *need;
	size_t nruns, nops, nneeds;
	size_t run_cap, op_cap, need_cap;
	uint64_t n; /* how many events */

	/* Where it stands. */
	uint64_t position;
	size_t next_op, next_need;
	struct model_held *held;
	size_t nheld, held_cap;
};

struct model_lock {
	uint32_t owner;   /* 1 + thread that holds it exclusively, or 0 */
	uint32_t nshared; /* how many hold it shared */
};

/* Part of a schedule: events [from, to) of a thread. */
struct model_part {
	uint32_t thread;
	uint64_t from, to;
};

struct model_schedule {
	struct model_part *v;
	size_t n, cap;
};

struct model {
	struct model_thread *thread;
	struct model_lock *lock;
	size_t nthreads, nlocks, thread_cap, lock_cap;
	struct model_schedule done; /* since the last reset */
	struct model_sync *sync;    /* barriers and condition variables */
	size_t nsync, sync_cap;
	uint64_t events; /* how many were taken */
	uint64_t steps;  /* counts what is done with it, about as time goes */
};

void model_init(struct model *m);
void model_free(struct model *m);
/* The whole trace, or as much of it as may be used. */
void model_take(struct model *m, const struct batch *b);
void model_ready(struct model *m); /* after the last batch */

/* The position of an event of that thread. */
uint64_t model_position(const struct model *m, uint32_t thread, uint64_t event);

/* Back to the start. */
void model_reset(struct model *m);

/* Why a thread went no further. */
enum model_stop {
	MODEL_THERE,
	MODEL_LOCKED,  /* its next event acquires a lock that others hold */
	MODEL_WAITING, /* another thread has to come further first */
	MODEL_ENDED,   /* it has no more events */
};

/* Let a thread run on to a position, or as far as it gets; or go back, undoing what it did. */
enum model_stop model_go(struct model *m, uint32_t thread, uint64_t position);
void model_back(struct model *m, uint32_t thread, uint64_t position);

/* What has been done since the last reset, as event numbers; how many. `out` may be NULL. */
size_t model_done(const struct model *m, uint64_t *out);

/*
 * Execute a schedule from the start, believing nothing. False where some event
 * cannot happen then.
 */
bool model_execute(struct model *m, const struct model_schedule *s);

/* The next operation on a lock before a position; NULL where there is none. */
const struct model_lock_op *model_next_op(const struct model *m, uint32_t thread, uint64_t before);
/* Can an acquire happen now? */
bool model_is_free(const struct model *m, const struct model_lock_op *op);
/* Does the thread's next event wait for another thread? Then *out says for which, and where. */
bool model_unmet(const struct model *m, uint32_t thread, struct model_need *out);
/*
 * What event number `i` of the thread's needs asks for, one answer for each
 * k from 0 on; false where there are no more.
 */
bool model_need_at(const struct model *m, const struct model_need *need, size_t k,
		   struct model_need *out);

#endif
