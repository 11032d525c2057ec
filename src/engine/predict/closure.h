/*
 * Closures: the events that must have happened before given ones, if every read is to
 * see the write that it saw in the run.
 *
 * A set of events is a position for each thread. It is closed if
 *
 *  - it has what its events need (model.h): forks, joined threads, waits, barriers;
 *  - with a read it has the write that the read saw; but with MODEL_SINGLE_READS not if
 *    another write has the value that it saw;
 *  - with CLOSURE_LOCKS: of two sections of one lock that exclude each other, and whose
 *    acquires are both in the set, it has the release of the one that comes first in the
 *    run. Then the events of the set, in the order of the run, are a schedule (the
 *    "sync-preserving" one of Mathur, Pavlogiannis and Viswanathan, POPL 2021).
 *
 * Sets grow: after a closure, more events can be wanted. What is in the set when
 * closure_mark() is called has happened: a section that is open then must end before
 * another section of the lock that begins later, whatever their order in the run.
 *
 * The cost does not depend on how many events the set has, only on the number of
 * threads, of the locks that they hold at their positions, and of their forks, joins,
 * waits and barriers.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_CLOSURE_H
#define ATOMSAN_ENGINE_PREDICT_CLOSURE_H

#include "engine/predict/model.h"

struct closure_thread {
	uint64_t stamp;    /* of the set that the rest is about */
	uint64_t position; /* its events before this one are in the set */
	uint64_t followed; /* up to here, reads were followed to their writes */
	uint64_t mark;     /* its position when closure_mark() was called */
	size_t needs;      /* needs that were followed */
};

/* The acquires of a lock by a thread, in one mode: indices into its operations. */
struct closure_acquires {
	uint32_t *v;
	size_t n, cap;
};

/* A set fails if it has more of a thread than the events before `position`. */
struct closure_limit {
	uint32_t thread;
	uint64_t position;
};

/* Reads of a thread, from `from` on, some of which need not see the write that they saw. */
struct closure_exempt {
	uint32_t thread;
	uint64_t from;
	bool (*is_exempt)(void *arg, const struct model_access *a);
	void *arg;
};

struct closure {
	struct model *model;
	struct closure_thread *thread;
	uint32_t *involved; /* threads with a position above 0 */
	size_t ninvolved;
	uint64_t stamp;
	bool locks, marked, failed;
	enum model_reads reads;
	struct closure_limit limit[2];
	struct closure_exempt exempt; /* is_exempt NULL: none */
	struct map acquire_ids;       /* (thread, lock, mode) -> index into `acquires` */
	struct closure_acquires *acquires;
	size_t nacquires, acquires_cap;
};

/* The model must be ready, and stays the caller's. */
void closure_init(struct closure *c, struct model *model);
void closure_free(struct closure *c);

enum closure_rule { CLOSURE_NEEDS, CLOSURE_LOCKS };

/* Begin an empty set. */
void closure_begin(struct closure *c, enum closure_rule rule, enum model_reads reads,
		   const struct closure_exempt *exempt);
/* Put the thread's events before `position` into the set. */
void closure_want(struct closure *c, uint32_t thread, uint64_t position);
/* Put what the thread's event at `position` needs into the set, without the event. */
void closure_want_needs(struct closure *c, uint32_t thread, uint64_t position);
/* Make the set fail if it gets more of a thread; `k` is 0 or 1. UINT64_MAX: no limit. */
void closure_set_limit(struct closure *c, int k, uint32_t thread, uint64_t position);
/* Close the set. Returns false if it fails: beyond a limit, or a lock is never released. */
bool closure_close(struct closure *c);
void closure_mark(struct closure *c);
uint64_t closure_position(const struct closure *c, uint32_t thread);

#endif
