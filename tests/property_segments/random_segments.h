/*
 * Random small traces, one for each seed, for engines that compare segments. All
 * threads are concurrent. Locks are acquired in ascending order, so that no thread
 * can wait forever.
 *
 * Included by: tests/property_segments.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SEGMENTS_RANDOM_SEGMENTS_H
#define ATOMSAN_TESTS_PROPERTY_SEGMENTS_RANDOM_SEGMENTS_H

#include "trace.h"

enum segments_shape {
	TWO_BLOCKS,    /* two threads, a transaction each; locks nest */
	MANY_SEGMENTS, /* more threads, more transactions, operations outside; locks nest */
	CROSSED,       /* the same, locks released in any order, and held from segment to segment */
	SEGMENTS_SHAPES
};

void random_segments(struct trace *t, uint64_t seed, enum segments_shape shape);

#endif
