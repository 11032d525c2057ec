/*
 * Judges a trace in a separate process, for engines that crash or hang.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_ISOLATE_H
#define ATOMSAN_TESTS_PROPERTY_ISOLATE_H

#include "judge.h"
#include "shrink.h"

/*
 * Seconds after which an engine that judges one small trace counts as hanging. While a trace on
 * which it hangs is shrunk, a shorter time suffices.
 */
enum { ISOLATE_SECONDS = 20, ISOLATE_SHRINK_SECONDS = 2 };
/* Seconds for all of shrinking; after them the smallest trace so far is taken. */
enum { ISOLATE_PATIENCE = 60 };

/* Returns zeroed memory that child processes share. It is never freed. */
void *isolate_shared(size_t bytes);

/*
 * Does the same as judge_trace(), in a child. If the child dies, the failure is FAIL_CRASH. The
 * judge's counts and account do not change, and the engine's standard error is discarded.
 */
void isolate_judge(struct judge *j, const struct trace *t, uint64_t seed, struct verdict *v);

/*
 * Shrinks a trace as long as the same contender fails in the same way as in `v`. Afterwards `v` is
 * the verdict on the shrunk trace. If the engine crashes on that, its standard error is shown.
 */
void isolate_shrink(struct judge *j, struct trace *t, uint64_t seed, struct verdict *v);

#endif
