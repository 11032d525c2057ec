/*
 * Judges what precise engines say of a small trace.
 *
 * Against the twin, for each engine: the verdict, the event of the first
 * finding and what that rests on; for every finding its transaction, its blame
 * and refuted blocks, and that its steps are a cycle. Against each other: the
 * events and the blame of all findings.
 *
 * A later finding has lost the edges that closed the earlier ones, so what it
 * rests on is held to less: "data" needs a cycle without locks through that
 * transaction, and "locks" that no operation outside is between it and the
 * closing event by data alone.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_JUDGE_H
#define ATOMSAN_TESTS_PROPERTY_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "drive.h"

enum { CONTENDERS_MAX = 8 };

/* What can go wrong; a shrunk trace must fail in the same manner. */
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
	size_t who;      /* which contender */
	struct str what; /* one sentence; STR_INIT before the first use */
};

/* Of all traces judged, as the twin sees them: no test may pass on nothing. */
struct judge_counts {
	uint64_t traces, violations, blamed, on_locks;
	uint64_t findings, findings_blamed; /* of the first contender */
};

struct judge {
	struct contender who[CONTENDERS_MAX];
	size_t n;
	struct judge_counts counts;
	size_t *running;     /* if set, gets the contender that runs, for when it crashes */
	struct str *account; /* if set, gets what every contender said, for people */
};

/* `seed` draws the batches. */
void judge_trace(struct judge *j, const struct trace *t, uint64_t seed, struct verdict *v);

#endif
