/*
 * The brute-force twin of `predict`: it tries all interleavings of a small trace,
 * and finds which of the patterns in docs/engines/predict.md can happen in one. It
 * shares no code with the engine.
 *
 * Definition of an interleaving: each thread executes a prefix of its events, in
 * their own order, and
 *
 *  - at an exclusive acquire no thread holds the lock; at a shared acquire no thread
 *    holds it exclusively;
 *  - the events of a forked thread come after the fork;
 *  - a join comes after all events that the joined thread has before the join in
 *    the trace;
 *  - the waits and notifies of one object come in the order of the trace;
 *  - a thread that has reached a barrier for the k-th time continues only when all
 *    threads that reach it at least k times in the trace have done so.
 *
 * What an interleaving can do next depends only on the position of each thread, so
 * a search over all tuples of positions is a search over all interleavings.
 *
 * Included by: tests/property_predict.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_PREDICT_TWIN_PREDICT_H
#define ATOMSAN_TESTS_PROPERTY_PREDICT_TWIN_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "trace.h"

enum {
	TWIN_THREADS = 4,
	TWIN_EVENTS = 48,
	TWIN_LOCKS = 4,
	TWIN_VARS = 3,
	TWIN_PATTERNS = 5,
	TWIN_TWO = 9, /* patterns of two variables */
	TWIN_STEPS = 4
};
extern const char *const twin_pattern[TWIN_PATTERNS];
extern const char *const twin_two[TWIN_TWO];

struct twin_predict {
	const struct trace *t;
	uint32_t event[TWIN_THREADS][TWIN_EVENTS]; /* index into t->ev */
	uint32_t n[TWIN_THREADS];
	uint32_t where[TWIN_EVENTS];                             /* by event: its position */
	uint32_t block[TWIN_EVENTS];                             /* 1 + outermost begin, or 0 */
	uint8_t held[TWIN_THREADS][TWIN_EVENTS + 1][TWIN_LOCKS]; /* 0, 1 exclusive, 2 shared */
	bool nested;        /* whether locks are released in the reverse order of acquisition */
	bool deadlock_free; /* whether every interleaving can be completed */
	/* What is possible: [variable][thread of e1, e2][thread of f][pattern]; for two variables
	   [x][y] and the same. */
	bool can[TWIN_VARS][TWIN_THREADS][TWIN_THREADS][TWIN_PATTERNS];
	bool can_two[TWIN_VARS][TWIN_VARS][TWIN_THREADS][TWIN_THREADS][TWIN_TWO];
};

/* Judges the trace. Returns false if the trace is too large for the twin. */
bool twin_predict(struct twin_predict *w, const struct trace *t);

/* Can the thread's next event happen, with the threads at these positions? */
bool twin_predict_enabled(const struct twin_predict *w, const uint32_t *pos, uint32_t thread);

/*
 * Is the schedule a legal interleaving that has the steps in this order and ends
 * with the last? The steps are e1, f, e2, or e1, f1, f2, e2, of which f1 and f2 may
 * come in any order; event numbers count from 1. If it is not, `what` says why.
 */
bool twin_predict_legal(const struct twin_predict *w, const uint64_t *schedule, size_t n,
			const uint64_t *steps, size_t nsteps, struct str *what);

/*
 * Do e1, f, e2 match this pattern? They must access one variable; e1 and e2 must be in one block,
 * in this order; and f must be of another thread.
 */
bool twin_predict_fits(const struct twin_predict *w, const uint64_t steps[3], const char *pattern);
/*
 * Do e1, f1, f2, e2 match this pattern? e1 and f1 must access one variable, f2 and e2 another; e1
 * and e2 must be in one block, in this order; f1 and f2 must be in one block of another thread, in
 * any order.
 */
bool twin_two_fits(const struct twin_predict *w, const uint64_t steps[4], const char *pattern);

#endif
