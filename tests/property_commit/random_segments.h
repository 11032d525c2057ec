/*
 * Random small programs of transactions and locks: one run of one program for each
 * seed.
 *
 * Included by: tests/property_commit.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_COMMIT_RANDOM_SEGMENTS_H
#define ATOMSAN_TESTS_PROPERTY_COMMIT_RANDOM_SEGMENTS_H

#include "trace.h"

enum random_segments {
	RANDOM_PAIR,   /* two threads with a transaction each, locks nested */
	RANDOM_TREES,  /* several threads with a transaction each, locks nested, in one order */
	RANDOM_MIXTURE /* several transactions a thread, and operations outside; forks and joins;
			  locks in any order, not always nested */
};

/* Replaces the contents of `t`, in canonical form. */
void random_segments(struct trace *t, uint64_t seed, enum random_segments what);

#endif
