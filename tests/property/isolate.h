/*
 * Judging in a process of its own, for engines that do not come back.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_ISOLATE_H
#define ATOMSAN_TESTS_PROPERTY_ISOLATE_H

#include "judge.h"
#include "shrink.h"

/*
 * Seconds for one small trace, after which an engine counts as hanging; and when
 * it is known to hang, and the question is just whether it still does.
 */
enum { ISOLATE_SECONDS = 20, ISOLATE_SHRINK_SECONDS = 2 };
/* And for all of shrinking: what is there by then is good enough. */
enum { ISOLATE_PATIENCE = 60 };

/* Zeroed memory that children share; never freed. */
void *isolate_shared(size_t bytes);

/*
 * As judge_trace(), with FAIL_CRASH for a death; counts and account stay as they
 * are. What the engine says on standard error is lost.
 */
void isolate_judge(struct judge *j, const struct trace *t, uint64_t seed, struct verdict *v);

/*
 * Shrink a trace so that `v`, its verdict, stays what it is: the same failure of
 * the same contender. Afterwards `v` is the verdict on what is left, and what a
 * crashing engine says of that is to be seen.
 */
void isolate_shrink(struct judge *j, struct trace *t, uint64_t seed, struct verdict *v);

#endif
