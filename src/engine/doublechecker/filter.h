/*
 * Which transactions DoubleChecker's second run looks at, and which labels the
 * first run names.
 *
 * A transaction whose label is not among the suspects becomes nothing: each of
 * its events is OP_NONE, but for fork and join, which keep their threads in
 * order. Operations outside blocks become nothing unless some are suspected. So
 * every cycle that is left is one of the whole trace, and not every one is left.
 *
 * Who may include this: the files of doublechecker/.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_FILTER_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_FILTER_H

#include "engine/doublechecker/suspects.h"
#include "engine/engine.h"

struct filter;

/* `in` may be NULL: everything passes. `out` may be NULL. Both stay the caller's. */
struct filter *filter_new(const struct suspects *in, struct suspects *out);
void filter_free(struct filter *f);

/* The batch's events as they are to be taken; good until the next call. */
const struct event *filter_take(struct filter *f, const struct batch *b);
/* The trace begins again. */
void filter_rewind(struct filter *f);

/* Put a label of a transaction that has been taken into `out`. */
void filter_suspect(struct filter *f, strref label);

#endif
