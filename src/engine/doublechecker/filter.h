/*
 * The filter of DoubleChecker's second run, and the labels that the first run names.
 *
 * A transaction whose label is not among the suspects is removed: each of its events
 * becomes OP_NONE, except forks and joins, which order threads. Operations outside
 * blocks are removed too, unless some are suspected. So every cycle that is left is
 * a cycle of the whole trace, but not every cycle of the trace is left.
 *
 * Included by: the files of doublechecker/.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_FILTER_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_FILTER_H

#include "engine/doublechecker/suspects.h"
#include "engine/engine.h"

struct filter;

/* Both stay the caller's and may be NULL; without `in` no transaction is removed. */
struct filter *filter_new(const struct suspects *in, struct suspects *out);
void filter_free(struct filter *f);

/* Returns the events of the batch after filtering; valid until the next call. */
const struct event *filter_take(struct filter *f, const struct batch *b);
/* Prepare for another pass over the trace. */
void filter_rewind(struct filter *f);

/* Add to `out` the label of a transaction that was taken. */
void filter_suspect(struct filter *f, strref label);

#endif
