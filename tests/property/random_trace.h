/*
 * Random legal traces, one for each seed.
 *
 * A seed first draws the mix (how many threads, variables and locks; how often
 * a thread goes on inside a block; the weight of each operation) and then the
 * trace, so that some seeds are nearly serial, some are a storm, and about
 * half of all are serializable. Between the random events stand shapes that
 * are known to break engines; see random_shapes.c.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_RANDOM_TRACE_H
#define ATOMSAN_TESTS_PROPERTY_RANDOM_TRACE_H

#include "trace.h"

/* Replaces what `t` holds; 4 to `max_length` events, in canonical form. */
void random_trace(struct trace *t, uint64_t seed, unsigned max_length);

#endif
