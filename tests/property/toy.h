/*
 * Toy engines for --self-test: one that tells the truth, because it asks the
 * twin, and one for each lie that the judge must see through.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TOY_H
#define ATOMSAN_TESTS_PROPERTY_TOY_H

#include "judge.h"

/* The lie, and as what it must be caught. */
#define TOYS(X)                                                                                    \
	X(truth, NOTHING)           /* the first finding, as it is */                              \
	X(silent, VERDICT)          /* never reports */                                            \
	X(alarmed, VERDICT)         /* reports the last event of a serializable trace */           \
	X(late, FIRST_EVENT)        /* one event late */                                           \
	X(early, FIRST_EVENT)       /* one event early */                                          \
	X(twice, ORDER)             /* everything twice */                                         \
	X(misnamed, TRANSACTION)    /* names an inner begin */                                     \
	X(blameless, BLAME)         /* blames no block */                                          \
	X(blaming, BLAME)           /* blames always */                                            \
	X(outermost, REFUTED)       /* refutes the outermost block only */                         \
	X(all_open, REFUTED)        /* refutes all open blocks */                                  \
	X(on_data, RESTS_ON)        /* rests on data always */                                     \
	X(on_locks, RESTS_ON)       /* rests on locks always */                                    \
	X(leaping, CYCLE)           /* leaves out a step */                                        \
	X(backward, CYCLE)          /* walks against the arrows */                                 \
	X(mislabelled, STEP_FIELDS) /* steps carry the closing transaction's label */              \
	X(chatty, DISAGREE)         /* one more real finding than the truth */                     \
	X(endless, PROTOCOL)        /* wants the trace again and again */                          \
	X(greedy, PROTOCOL)         /* wants more events than there are */                         \
	X(crashing, CRASH)          /* does not survive a finding */

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
