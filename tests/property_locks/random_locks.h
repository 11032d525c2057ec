/*
 * Random legal traces for engines that look at locks and thread phases: nested
 * and crossed locks, both kinds, threads that come and go, barriers, memory that
 * is allocated again. One for each seed.
 *
 * Who may include this: tests/property_locks.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_LOCKS_RANDOM_LOCKS_H
#define ATOMSAN_TESTS_PROPERTY_LOCKS_RANDOM_LOCKS_H

#include "trace.h"

/* Replaces what `t` holds; at most `max_length` events, in canonical form. */
void random_locks(struct trace *t, uint64_t seed, unsigned max_length);

#endif
