/*
 * Judges the findings of precise engines on a small trace.
 *
 * Compared with the twin, for each engine:
 *  - the verdict, the event of the first finding and what that finding rests on;
 *  - for every finding its transaction, its blame and refuted blocks, and
 *    whether its steps are a cycle.
 * Compared between the engines: the events and the blame of all findings.
 *
 * An edge that closes a cycle is left out of the graph, so for a finding after
 * the first the twin cannot say exactly what it rests on. Less is required:
 *  - "data": there is a cycle without locks through the finding's transaction;
 *  - "locks": the closing event does not cut its transaction by data alone
 *    (twin_cut_by_data()).
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_JUDGE_H
#define ATOMSAN_TESTS_PROPERTY_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "drive.h"

enum { CONTENDERS_MAX = 8 };

/* The kinds of failure. A shrunk trace must fail with the same kind. */
#define FAILURES(X)                                                                                \
	X(NOTHING, "nothing")                                                                      \
	X(PROTOCOL, "passes")                                                                      \
	X(VERDICT, "verdict")                                                                      \
	X(FIRST_EVENT, "event of the first finding")                                               \
	X(ORDER, "order of findings")                                                              \
	X(FIELDS, "fields of a finding")                                                           \
	X(TRANSACTION, "transaction")                                                              \
	X(BLAME, "blame")                                                                          \
	X(REFUTED, "refuted blocks")                                                               \
	X(RESTS_ON, "rests_on")                                                                    \
	X(CYCLE, "steps")                                                                          \
	X(STEP_FIELDS, "fields of a step")                                                         \
	X(DISAGREE, "engines disagree")                                                            \
	X(CRASH, "crash")

enum failure {
#define X(id, what) FAIL_##id,
	FAILURES(X)
#undef X
		FAIL_COUNT
};
extern const char *const failure_name[FAIL_COUNT];

struct verdict {
	enum failure failure;
	size_t who;      /* index of the contender */
	struct str what; /* one sentence; STR_INIT before the first use */
};

/* Counts over all judged traces, by the twin's answers, so that no test passes without testing. */
struct judge_counts {
	uint64_t traces, violations, blamed, on_locks;
	uint64_t findings, findings_blamed; /* of the first contender */
};

struct judge {
	struct contender who[CONTENDERS_MAX];
	size_t n;
	struct judge_counts counts;
	size_t *running;     /* if set, receives the contender that runs, in case it crashes */
	struct str *account; /* if set, receives every contender's findings as text */
};

/* Judges all contenders on the trace. `seed` decides the sizes of the batches. */
void judge_trace(struct judge *j, const struct trace *t, uint64_t seed, struct verdict *v);

#endif
