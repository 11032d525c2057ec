/*
 * The model on which `predict` makes and executes schedules: each thread's own
 * events in their order, and what must hold for the next of them to happen.
 *
 *  - A lock is free, or held shared and acquired shared.
 *  - fork(T) comes before T's first event; all of T's events that the run had
 *    before join(T) come before that.
 *  - A thread that arrives at a barrier for the k-th time goes on when all threads
 *    that passed it k times in the run have arrived for the k-th time.
 *  - wait and notify of one condition variable happen in the order of the run. This
 *    forbids more than a real run does, so a schedule is never impossible because
 *    of them.
 *
 * Values are not part of the model: if another order of reads and writes would make
 * the program take another branch, the model does not see it. Semaphores are locks
 * in a trace.
 *
 * A position counts the thread's events: at position p, its events 0 .. p-1 have
 * happened. Only operations on locks and those listed above are kept one by one; of
 * the other events only their numbers are kept, as runs of consecutive events.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_MODEL_H
#define ATOMSAN_ENGINE_PREDICT_MODEL_H

#include "base/map.h"
#include "engine/engine.h"

struct model_run {
	uint64_t event, at; /* event number, position in the thread */
};

struct model_lock_op {
	uint64_t at;
	uint32_t lock;
	bool acquire, exclusive;
};

/*
 * Event `at` of the thread needs another thread to be at `position` or further. If
 * `thread` is MODEL_ROUND, it needs all threads of the barrier's round `position`.
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
	uint64_t n; /* events */

	/* Where the thread is now: */
	uint64_t position;
	size_t next_op, next_need;
	struct model_held *held;
	size_t nheld, held_cap;
};

struct model_lock {
	uint32_t owner;   /* 1 + thread that holds it exclusively, or 0 */
	uint32_t nshared; /* threads that hold it shared */
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
	uint64_t events; /* events taken */
	uint64_t steps;  /* of work on schedules: about proportional to time */
};

void model_init(struct model *m);
void model_free(struct model *m);
/* Take the events of the trace, up to the last that a schedule may use. */
void model_take(struct model *m, const struct batch *b);
void model_ready(struct model *m); /* after the last batch */

/* Returns the position of an event of that thread. */
uint64_t model_position(const struct model *m, uint32_t thread, uint64_t event);

/* Put all threads back to the start. */
void model_reset(struct model *m);

/* Why a thread stopped. */
enum model_stop {
	MODEL_THERE,   /* it has reached the position */
	MODEL_LOCKED,  /* its next event acquires a lock that another thread holds */
	MODEL_WAITING, /* another thread must go further first */
	MODEL_ENDED,   /* it has no more events */
};

/* Run a thread up to a position, or as far as it can go. */
enum model_stop model_go(struct model *m, uint32_t thread, uint64_t position);
/* Move a thread back to a position, undoing what it did. */
void model_back(struct model *m, uint32_t thread, uint64_t position);

/* Put the events since the last reset into `out`, unless it is NULL; returns how many. */
size_t model_done(const struct model *m, uint64_t *out);

/*
 * Execute a schedule from the start, checking everything. Returns false if an event
 * cannot happen at its turn.
 */
bool model_execute(struct model *m, const struct model_schedule *s);

/* Returns the thread's next operation on a lock before a position; NULL if there is none. */
const struct model_lock_op *model_next_op(const struct model *m, uint32_t thread, uint64_t before);
/* Can an acquire happen now? */
bool model_is_free(const struct model *m, const struct model_lock_op *op);
/* Does the thread's next event wait for another thread? If so, *out says for which, and where. */
bool model_unmet(const struct model *m, uint32_t thread, struct model_need *out);
/*
 * Split a need into needs of one thread each: sets *out to the k-th of them, from 0
 * on. Returns false if there are no more.
 */
bool model_need_at(const struct model *m, const struct model_need *need, size_t k,
		   struct model_need *out);

#endif
