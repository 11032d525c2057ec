/*
 * The test of the paper (Wang and Stoller, PPoPP 2006), exactly as it is written
 * there: access trees; the edges of figure 3 (conflict-forest) and figure 5
 * (view-forest); commit nodes; and, for each two communication nodes of a
 * transaction that do not contain each other, a search for a cycle through both
 * that visits each tree once, as in the proof of theorem 4.3. It has none of the
 * engine's shortcuts: no trimming, no merging of what is equal, no summaries.
 *
 * For traces in which each thread is one transaction with nested locks that
 * cannot deadlock.
 *
 * Included by: tests/property_commit.
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
	size_t event; /* index of the access, of the acquire, or of the root's begin; from 0 */
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

/* Builds the forest, counts each thread's commit nodes and finds which threads are on a cycle. */
void paper_judge(struct paper *p, const struct trace *t, bool view);

#endif
