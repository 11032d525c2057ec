/*
 * The brute-force twin of `reduction` and `blocks`, which decide how segments can be
 * interleaved: it interleaves them in every way that program order and locks allow,
 * and checks whether each such run is the same as some serial order of the
 * transactions.
 *
 * Definitions:
 *
 *  - two runs are the same by view if each read sees the same write (or none) and
 *    each variable's last write is the same;
 *  - two runs are the same by conflict if every two accesses of one variable of
 *    which one writes come in the same order;
 *  - in a serial order every transaction is contiguous, and each thread's
 *    transactions and operations outside blocks come in the order of the trace. An
 *    operation outside blocks is a transaction by itself. Lock operations do not
 *    restrict a serial order.
 *
 * No fork, join or barrier: all threads of these traces are concurrent.
 *
 * Included by: tests/property_segments.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SEGMENTS_TWIN_SEGMENTS_H
#define ATOMSAN_TESTS_PROPERTY_SEGMENTS_TWIN_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

enum twin_verdict {
	TWIN_ATOMIC,  /* every interleaving is the same as a serial order of the transactions */
	TWIN_CUT,     /* some interleaving is not */
	TWIN_LARGE,   /* the trace is too long, or has too many interleavings */
	TWIN_DEADLOCK /* some interleaving deadlocks, and none is cut */
};

enum twin_sameness { BY_VIEW, BY_CONFLICT };

/* Judges the trace. Gives up if there are more than `most` serial orders or interleavings. */
enum twin_verdict twin_segments(const struct trace *t, enum twin_sameness how, size_t most);

#endif
