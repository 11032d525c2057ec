/*
 * The brute-force twin of the engines that ask how segments can be interleaved: it
 * does interleave them, in every way that program order and locks allow, and
 * looks whether some order of whole transactions gives the same.
 *
 * Two runs are the same by view where each read sees the same write and each
 * variable ends with the same write; by conflict where every two conflicting
 * accesses come in the same order. In an order of whole transactions each
 * thread's transactions, and its operations outside blocks, come as they do in
 * the trace.
 *
 * No fork, join or barrier: all threads of these traces are concurrent.
 *
 * Who may include this: tests/property_segments.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SEGMENTS_TWIN_SEGMENTS_H
#define ATOMSAN_TESTS_PROPERTY_SEGMENTS_TWIN_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

enum twin_verdict {
	TWIN_ATOMIC,  /* every interleaving is explained by an order of transactions */
	TWIN_CUT,     /* one is not */
	TWIN_LARGE,   /* too many to look at */
	TWIN_DEADLOCK /* one gets stuck */
};

enum twin_sameness { BY_VIEW, BY_CONFLICT };

enum twin_verdict twin_segments(const struct trace *t, enum twin_sameness how, size_t most);

#endif
