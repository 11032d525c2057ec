/*
 * The brute-force twin of the engines that ask whether every run of some threads
 * is serializable: it runs them in every order that locks, forks and joins allow, and
 * holds each run against the definition.
 *
 * A run is serializable where there is an order of the same operations in which
 * every transaction is in one piece, what must come first comes first (a
 * thread's own order, fork, join), and
 *
 *  - conflict: two accesses of a variable, one a write, come in the same order;
 *  - view: each read sees the same write, and each variable's last write is the same.
 *
 * A block with a fork or join in it is a transaction before and one after.
 * Operations outside blocks may go anywhere. Runs that deadlock are counted and
 * not judged.
 *
 * Who may include this: tests/property_commit.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_COMMIT_BRUTE_H
#define ATOMSAN_TESTS_PROPERTY_COMMIT_BRUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

struct brute {
	uint64_t runs, deadlocks;
	bool too_many;       /* gave up: the rest says nothing */
	bool conflict, view; /* atomic: every run is serializable */
};

/* At most BRUTE_THREADS threads, and as many pieces as a word has bits. */
enum { BRUTE_THREADS = 6, BRUTE_LOCKS = 6, BRUTE_VARS = 6, BRUTE_PIECES = 30, BRUTE_EVENTS = 60 };

struct brute brute_judge(const struct trace *t, uint64_t max_runs);

#endif
