/*
 * Toy engines for --self-test. All of them ask the twin. The first reports the
 * truth; each of the others makes one kind of error, which the judge must detect.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TOY_H
#define ATOMSAN_TESTS_PROPERTY_TOY_H

#include "judge.h"

/* Each toy, and the failure that the judge must report for it. */
#define TOYS(X)                                                                                    \
	X(truth, NOTHING)           /* reports the first finding */                                \
	X(silent, VERDICT)          /* never reports */                                            \
	X(alarmed, VERDICT)         /* reports the last event of a serializable trace */           \
	X(late, FIRST_EVENT)        /* one event late */                                           \
	X(early, FIRST_EVENT)       /* one event early */                                          \
	X(twice, ORDER)             /* everything twice */                                         \
	X(misnamed, TRANSACTION)    /* names an inner begin */                                     \
	X(blameless, BLAME)         /* blames no block */                                          \
	X(blaming, BLAME)           /* always blames a block */                                    \
	X(outermost, REFUTED)       /* refutes the outermost block only */                         \
	X(all_open, REFUTED)        /* refutes all open blocks */                                  \
	X(on_data, RESTS_ON)        /* always rests on data */                                     \
	X(on_locks, RESTS_ON)       /* always rests on locks */                                    \
	X(leaping, CYCLE)           /* leaves out a step */                                        \
	X(backward, CYCLE)          /* lists the steps in reverse */                               \
	X(mislabelled, STEP_FIELDS) /* steps carry the closing transaction's label */              \
	X(chatty, DISAGREE)         /* one more real finding than the truth */                     \
	X(endless, PROTOCOL)        /* wants the trace again and again */                          \
	X(greedy, PROTOCOL)         /* wants more events than there are */                         \
	X(crashing, CRASH)          /* aborts if there is a finding */

enum toy_lie {
#define X(id, caught_as) TOY_##id,
	TOYS(X)
#undef X
		TOY_COUNT
};

struct toy {
	struct contender contender;
	enum failure caught_as;
};
extern const struct toy toys[TOY_COUNT];

#endif
