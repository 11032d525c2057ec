/*
 * The brute-force twin of `commit-conflict` and `commit-view`, which decide whether
 * every run of some threads is serializable. The twin runs the threads in every
 * order that locks, forks and joins allow, and checks each run by the definition.
 *
 * Definition. A run is serializable if there is a serial order of the same
 * accesses: every transaction is contiguous; a thread's transactions keep their
 * order; everything before fork(T) comes before T, and T before everything after
 * join(T); and
 *
 *  - by conflict: every two accesses of one variable of which one writes come in
 *    the same order as in the run;
 *  - by view: each read sees the same write as in the run (or none, as there), and
 *    each variable's last write is the same.
 *
 * A transaction is an outermost block; a fork or join in the block ends it and
 * begins another. An access outside blocks is a transaction by itself. Lock
 * operations decide which runs are possible; they are not part of the serial order.
 * Runs that deadlock are counted and not judged.
 *
 * Included by: tests/property_commit.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_COMMIT_BRUTE_H
#define ATOMSAN_TESTS_PROPERTY_COMMIT_BRUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

struct brute {
	uint64_t runs, deadlocks;
	bool too_many;       /* whether it gave up; then the other fields mean nothing */
	bool conflict, view; /* whether every run is serializable */
};

/* At most BRUTE_THREADS threads, and as many pieces as a word has bits. */
enum { BRUTE_THREADS = 6, BRUTE_LOCKS = 6, BRUTE_VARS = 6, BRUTE_PIECES = 30, BRUTE_EVENTS = 60 };

struct brute brute_judge(const struct trace *t, uint64_t max_runs);

#endif
