/*
 * Random legal traces, one for each seed, for engines that depend on locks and
 * phases of threads. They have nested and crossed locks, exclusive and shared;
 * threads that come and go; barriers; memory that is allocated again.
 *
 * Included by: tests/property_locks.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_LOCKS_RANDOM_LOCKS_H
#define ATOMSAN_TESTS_PROPERTY_LOCKS_RANDOM_LOCKS_H

#include "trace.h"

/* Replaces the contents of `t` by at most `max_length` events, in canonical form. */
void random_locks(struct trace *t, uint64_t seed, unsigned max_length);

#endif
