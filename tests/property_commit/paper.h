/*
 * The paper's test, as it is written (Wang and Stoller, PPoPP 2006): access
 * trees, the loops of figures 3 and 5, commit nodes, and for each pair of a
 * transaction's communication nodes that do not contain each other a search for
 * a cycle through both that visits a tree once, as the proof of theorem 4.3
 * has it. No trimming, nothing kept twice, no sums.
 *
 * For traces in which each thread is one transaction with nested locks that
 * cannot deadlock.
 *
 * Who may include this: tests/property_commit.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_COMMIT_PAPER_H
#define ATOMSAN_TESTS_PROPERTY_COMMIT_PAPER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

enum { PAPER_NODES = 256, PAPER_THREADS = 8 };

struct paper_node {
	uint32_t thread;
	int parent;   /* -1: the root */
	size_t event; /* of an access, or of the acquire; index from 0 */
	bool is_root, is_lock;
};

struct paper {
	const struct trace *t;
	struct paper_node node[PAPER_NODES];
	size_t n, nthreads;
	bool edge[PAPER_NODES][PAPER_NODES];
	unsigned commit_nodes[PAPER_THREADS];
	bool on_cycle[PAPER_THREADS];
};

void paper_judge(struct paper *p, const struct trace *t, bool view);

#endif
