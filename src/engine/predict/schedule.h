/*
 * Schedules: given three events e1, f and e2, find an order of events that the model
 * allows, that has them in this order, and that ends with e2; or find that there is
 * none. With two variables, f is a part of its thread, from f1 to f2: e1 comes
 * before f1, and e2 after f2.
 *
 * First the direct way, as in the proof of Kahlon, Ivancic and Gupta. Each thread
 * runs as far as it can. It stops before the last acquire of a lock that it will
 * still hold at its place (after `cut`, or before f), as long as the other thread
 * still has to use that lock. If locks are nested and the histories compatible, one
 * of the two can always go on: a thread that has stopped so holds only locks that
 * the other does not use any more. So there is at most one switch for each lock held
 * at the end. Then f happens, and the first thread goes on to e2; if another thread
 * holds a lock that it wants, that thread runs on until it releases it.
 *
 * If the direct way fails (locks that are not nested, possible deadlocks, other
 * threads that must be forked or joined on the way), all orders are searched, up to
 * a number of states: SCHEDULE_SEARCH for one goal, SCHEDULE_SEARCH_ALL for all.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_SCHEDULE_H
#define ATOMSAN_ENGINE_PREDICT_SCHEDULE_H

#include "engine/predict/model.h"

enum { SCHEDULE_SEARCH = 1 << 14, SCHEDULE_SEARCH_ALL = 1 << 21 };

/* Positions of events in their threads. */
struct schedule_goal {
	uint32_t thread, other; /* of e1, e2; of f */
	uint64_t e1, cut, e2;
	uint64_t f, f2; /* equal if there is one variable */
};

/* How one of the two threads uses a lock before its place. */
struct schedule_use {
	uint64_t stamp;          /* of the goal that the rest is about */
	uint64_t any, exclusive; /* 1 + position of its last acquire; 0: none */
	uint64_t kept;           /* the same, if it is still held at the end */
};

/* How far a thread must go. */
struct schedule_way {
	uint64_t stamp;
	uint64_t position;
	size_t needs; /* needs of the thread that were examined */
};

struct scheduler {
	struct model *model;
	struct schedule_use *use[2]; /* by lock: of `thread`, of `other` */
	size_t clear[2];             /* operations of each that are in no other thread's way */
	struct schedule_way *way;    /* by thread */
	bool *busy;                  /* by thread: others wait for it to go further */
	uint32_t *involved;          /* threads that must go further */
	size_t ninvolved;
	uint64_t stamp;
	uint64_t searched; /* states, in all */
	uint64_t searches;
	bool search;
};

/* The model must be ready, and stays the caller's. Without `search`, only the direct way is tried.
 */
void scheduler_init(struct scheduler *s, struct model *model, bool search);
void scheduler_free(struct scheduler *s);

/* Find a schedule. If this returns true, it is in model->done. */
bool schedule_make(struct scheduler *s, const struct schedule_goal *goal);

/* Not for callers: the search alone. */
bool schedule_search(struct scheduler *s, const struct schedule_goal *goal);

#endif
