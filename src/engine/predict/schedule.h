/*
 * From three events to an order of events that the model allows, in which they
 * come as e1, f, e2, and which ends with e2; or no for an answer. Where there
 * are two variables f is a stretch of its thread, from f1 to f2: e1 comes
 * before it begins, e2 after it ends.
 *
 * First directly, as Kahlon, Ivancic and Gupta's proof goes: each thread runs
 * as far as it can, and stops before it acquires for the last time a lock that
 * it will still hold at its place (behind `cut`, before f) while the other one
 * still has to use that lock. Where locks are nested and histories compatible,
 * one of the two can always go on: who has stopped so holds only locks that the
 * other has no use for any more. So there is at most one switch for each
 * lock held at the end. Then f happens, and the first thread goes on to e2;
 * who holds a lock that it wants goes on to where it is released.
 *
 * Where that does not get there (locks that are not nested, deadlocks that can
 * happen, other threads that have to be forked or joined on the way), all
 * orders are searched, up to a number of states: SCHEDULE_SEARCH for one
 * question, SCHEDULE_SEARCH_ALL for all of them.
 *
 * Who may include this: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_SCHEDULE_H
#define ATOMSAN_ENGINE_PREDICT_SCHEDULE_H

#include "engine/predict/model.h"

enum { SCHEDULE_SEARCH = 1 << 14, SCHEDULE_SEARCH_ALL = 1 << 21 };

/* Positions of events in their threads. */
struct schedule_goal {
	uint32_t thread, other; /* of e1, e2; of f */
	uint64_t e1, cut, e2;
	uint64_t f, f2; /* the same where there is one variable */
};

/* What a lock is to one of the two threads, before its place. */
struct schedule_use {
	uint64_t stamp;          /* of the goal that the rest is about */
	uint64_t any, exclusive; /* 1 + where it is acquired last; 0: never */
	uint64_t kept;           /* the same, where it is still held at the end */
};

/* How far a thread has to come. */
struct schedule_way {
	uint64_t stamp;
	uint64_t position;
	size_t needs; /* of its needs, so many have been looked at */
};

struct scheduler {
	struct model *model;
	struct schedule_use *use[2]; /* by lock: of `thread`, of `other` */
	size_t clear[2];             /* so many operations of theirs are in nobody's way */
	struct schedule_way *way;    /* by thread */
	bool *busy;                  /* by thread: others wait for it to come further */
	uint32_t *involved;          /* threads that have a way to go */
	size_t ninvolved;
	uint64_t stamp;
	uint64_t searched; /* states, in all */
	uint64_t searches;
	bool search;
};

/* The model is ready, and stays the caller's. Without `search`, the direct way only. */
void scheduler_init(struct scheduler *s, struct model *model, bool search);
void scheduler_free(struct scheduler *s);

/* Where this returns true, model->done is the schedule. */
bool schedule_make(struct scheduler *s, const struct schedule_goal *goal);

/* The search alone; a part of the above. */
bool schedule_search(struct scheduler *s, const struct schedule_goal *goal);

#endif
