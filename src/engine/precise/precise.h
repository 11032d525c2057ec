/*
 * The precise check: would this event close a cycle of transactions?
 *
 * Semantics. Events are given in the trace's order. `closings` lists those at
 * which an edge would have closed a cycle; such an edge is left out, and what
 * follows is judged without it. The time is linear in the events, and memory
 * does not grow with them.
 *
 * It may also be given a part of a trace: transactions such that every cycle
 * through one of them lies within them. Then the result for them is the same as in
 * the whole trace. Several such parts may follow each other in any order, each with
 * all of its blocks ended: what came before can be on no cycle.
 *
 * Included by: the files of precise/ and doublechecker/, the runtime.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_PRECISE_H
#define ATOMSAN_ENGINE_PRECISE_PRECISE_H

#include "engine/engine.h"
#include "engine/precise/explain.h"
#include "engine/precise/order.h"

/*
 * A variable, or a lock: an exclusive release is its write, a shared release its
 * read. `r` is the only read since the last write that still matters; with
 * READ_LIST set there are several, and it is the index of a list.
 */
struct precise_var {
	step w, r;
};
#define READ_LIST (1ull << 63)

struct precise_reads {
	step *v;
	size_t cap;
	uint32_t n;
	uint32_t next_free; /* 1 + index */
};

struct precise_thread {
	uint64_t begin; /* event of its last transaction's begin */
	step birth;     /* the fork, until the thread's first event */
};

struct precise {
	struct order order;
	struct precise_var *var, *lock;
	size_t var_cap, lock_cap;
	struct precise_thread *thread;
	size_t thread_cap;
	struct precise_reads *reads;
	size_t nreads, reads_cap;
	uint32_t free_reads;
	struct closings closings;
};

void precise_init(struct precise *p);
/* Free all but `closings`, which stay the caller's. */
void precise_free(struct precise *p);

/* Take the next events of a whole trace. */
void precise_take(struct precise *p, const struct batch *b);

/* Before a part: make room for this many variables, locks and threads. */
void precise_room(struct precise *p, size_t vars, size_t locks, size_t threads);
/* Take the next event of a part. */
void precise_one(struct precise *p, const struct event *e, uint64_t event);
/* Begin a thread, before its first event, in a part that has its fork. */
void precise_born(struct precise *p, uint32_t thread);

#endif
