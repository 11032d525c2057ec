/*
 * Random legal traces, one for each seed.
 *
 * A seed first decides the mix (the number of threads, variables and locks; how
 * often a thread continues inside a block; the weight of each operation) and then
 * the trace. So some traces are nearly serial, in others the threads switch all
 * the time, and about half of them are serializable. Between the random events
 * there are shapes that are known to break engines; see random_shapes.c.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_RANDOM_TRACE_H
#define ATOMSAN_TESTS_PROPERTY_RANDOM_TRACE_H

#include "trace.h"

/* Replaces the contents of `t` by 4 to `max_length` events, in canonical form. */
void random_trace(struct trace *t, uint64_t seed, unsigned max_length);

#endif
