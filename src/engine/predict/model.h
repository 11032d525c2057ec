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
 * Values are not part of these rules. For the variables that model_watch() names, the
 * model also keeps each access, with the write that it read in the run; values.h
 * makes schedules in which reads still see these writes. Semaphores are locks in a
 * trace.
 *
 * A position counts the thread's events: at position p, its events 0 .. p-1 have
 * happened. Only operations on locks and those listed above are kept one by one; of
 * the other events only their numbers are kept, as runs of consecutive events; of
 * transactions, where they begin and end.
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

/* A run of a thread: index into its runs. */
struct model_turn {
	uint32_t thread, run;
};

#define MODEL_NONE UINT32_MAX

struct model_lock_op {
	uint64_t at;
	uint32_t lock;
	uint32_t other; /* of an acquire: index of its release; of a release: of its acquire */
	uint32_t open;  /* index of the latest acquire that has no release up to here */
	bool acquire, exclusive;
};

/*
 * An access to a watched variable. An alloc reads and writes, a free writes. The value
 * (trace/event.h) is that of the variable after it. What the recording does not have of a
 * write follows from a read that saw it, unless such reads disagree: then a write is missing
 * in the recording, and the value is not known.
 */
struct model_access {
	uint64_t at : 52;
	uint64_t reads : 1;
	uint64_t writes : 1;
	uint64_t is_unsure : 1; /* of a write: reads disagree */
	uint64_t is_common : 1; /* of a write: another write, or the initial value, has its value */
	uint64_t value : 8;
	uint32_t var;
	strref place; /* equal for all copies of a statement */
	/* The write that a read saw: the `from`-th access of a thread; MODEL_NONE: initial value */
	uint32_t from_thread, from;
};

/* The thread's events before `at` read, among others, what another was at `position` for. */
struct model_link {
	uint64_t at, position;
};

/* The links of a thread to another one, both numbers increasing. */
struct model_links {
	struct model_link *v;
	size_t n, cap;
	size_t last;        /* where the last search ended */
	uint32_t thread;    /* the other one */
	uint32_t next_list; /* of the same thread: index into model.links */
};

/* A write of a watched variable: the `access`-th access of a thread, from 0. */
struct model_write {
	uint64_t event;
	uint32_t thread, access;
};

/* The writes of a variable, in the order of the run; and the same of its initial value. */
struct model_writes {
	struct model_write *v;
	uint32_t n, cap;
	uint8_t initial;
	bool is_unsure, is_common;
};

struct model_block {
	uint64_t begin, end; /* positions of the transaction's begin and end */
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

/* Links for all reads; or only for those that no other write has a value for. */
enum model_reads { MODEL_ALL_READS, MODEL_SINGLE_READS, MODEL_READS };

struct model_thread {
	struct model_run *run;
	struct model_lock_op *op;
	struct model_need *need;
	struct model_access *access;
	struct model_block *block;
	uint64_t *sync; /* positions of forks, joins, waits, notifies and barriers */
	size_t nruns, nops, nneeds, naccesses, nblocks, nsyncs;
	size_t run_cap, op_cap, need_cap, access_cap, block_cap, sync_cap;
	uint64_t n;                        /* events */
	size_t last_run;                   /* where the last search for a run ended */
	uint32_t first_links[MODEL_READS]; /* 1 + index into model.links; 0: none */

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
	struct model_turn *turn; /* all runs, in the order of the trace */
	size_t nturns, turn_cap;
	const bool *watched; /* by variable, below `nwatched` */
	size_t nwatched;
	struct model_writes *writes; /* by variable, below `nwatched` */
	struct model_links *links;
	size_t nlinks, links_cap;
	strref *spot; /* by place: the first place of the same statement; 0: not known yet */
	size_t spot_cap;
	struct map spots;    /* a hash of its line and column -> that place */
	struct map link_ids; /* (thread, other thread, enum model_reads) -> index into `links` */
	uint64_t events;     /* events taken */
	bool has_common;     /* some value has several writes */
	uint64_t steps;      /* of work on schedules: about proportional to time */
};

void model_init(struct model *m);
/*
 * Keep the accesses to these variables, by number. Call it before the first batch, with all
 * variables of the trace; `watched` stays the caller's.
 */
void model_watch(struct model *m, const bool *watched, size_t n);
void model_free(struct model *m);
/* Take the events of the trace, up to the last that a schedule may use. */
void model_take(struct model *m, const struct batch *b);
void model_ready(struct model *m); /* after the last batch */

/*
 * Returns the position of a thread's first fork, join, wait, notify or barrier from a position on;
 * the end of the thread if there is none.
 */
uint64_t model_next_sync(const struct model_thread *t, uint64_t from);

/* Returns the place that accesses at this place have in the model. */
strref model_place(const struct model *m, strref place);

/* Returns the value that a read saw in the run. */
uint8_t model_seen(const struct model *m, const struct model_access *read);
/* Is there another write, or the initial value, with the value that a read saw? */
bool model_has_other_write(const struct model *m, const struct model_access *read);

/* Returns the position of an event of that thread. */
uint64_t model_position(const struct model *m, uint32_t thread, uint64_t event);

/* Returns the position of the thread's first event with this number or a higher one. */
uint64_t model_first_from(const struct model *m, uint32_t thread, uint64_t event);
/* Returns the number of the event at a position. */
uint64_t model_event(const struct model *m, uint32_t thread, uint64_t position);
/* Returns the index of the thread's first access at a position or after it. */
size_t model_access_at(const struct model_thread *t, uint64_t position);
/* Returns how many operations on locks the thread has before a position. */
size_t model_ops_before(const struct model_thread *t, uint64_t position);
/*
 * Walk over the locks that a thread holds after its first `nops` operations on locks: begin with
 * `op` = MODEL_NONE. Returns the index of the next acquire, or MODEL_NONE.
 */
uint32_t model_next_held(const struct model_thread *t, size_t nops, uint32_t op);
/* Returns the transaction that has a position, its begin and end included; or NULL. */
const struct model_block *model_block_at(const struct model_thread *t, uint64_t position);

/* Put all threads back to the start. */
void model_reset(struct model *m);

/* After a reset, put a thread to a position, as if its events before that had happened. */
void model_jump(struct model *m, uint32_t thread, uint64_t position);

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

/* Put the event numbers of a schedule into `out`, unless it is NULL; returns how many they are. */
size_t model_list(const struct model *m, const struct model_schedule *s, uint64_t *out);

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
