/*
 * The twin of `predict`: what another interleaving of a small trace can do, by
 * trying all of them. It shares no code with the engine, and follows the
 * definition: threads keep their own order, each executes a prefix, and
 *
 *  - an exclusive acquire wants the lock free, a shared one wants no exclusive
 *    holder;
 *  - a thread that is forked begins after that; a join comes after all events
 *    that the thread has before the join in the trace;
 *  - wait and notify of one object come in the order of the trace;
 *  - a thread that has passed a barrier for the k-th time goes on when all
 *    threads that do so in the trace have passed it.
 *
 * What an interleaving can do next depends on how far each thread is, so a
 * search over these positions is a search over all interleavings.
 *
 * Who may include this: tests/property_predict.
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
	uint32_t where[TWIN_EVENTS];                             /* of each: its position */
	uint32_t block[TWIN_EVENTS];                             /* 1 + outermost begin, or 0 */
	uint8_t held[TWIN_THREADS][TWIN_EVENTS + 1][TWIN_LOCKS]; /* 0, 1 exclusive, 2 shared */
	bool nested;        /* locks are released in the reverse order of their acquisition */
	bool deadlock_free; /* every interleaving can be completed */
	bool can[TWIN_VARS][TWIN_THREADS][TWIN_THREADS][TWIN_PATTERNS]; /* [x][of e1, e2][of f] */
	bool can_two[TWIN_VARS][TWIN_VARS][TWIN_THREADS][TWIN_THREADS][TWIN_TWO]; /* [x][y] */
};

/* False where the trace is too large for it. */
bool twin_predict(struct twin_predict *w, const struct trace *t);

/*
 * Is this a legal interleaving that ends with e2, in which e1, f, e2 come in
 * this order? Event numbers from 1; e1, f1, f2, e2 where there are four. Otherwise
 * `what` says why not.
 */
bool twin_predict_legal(const struct twin_predict *w, const uint64_t *schedule, size_t n,
			const uint64_t *steps, size_t nsteps, struct str *what);

/* Do e1, f, e2 make this pattern: accesses of one variable, e1 and e2 in one transaction? */
bool twin_predict_fits(const struct twin_predict *w, const uint64_t steps[3], const char *pattern);
/* e1 and f1 of one variable, f2 and e2 of another, each two in one transaction? */
bool twin_two_fits(const struct twin_predict *w, const uint64_t steps[4], const char *pattern);

#endif
