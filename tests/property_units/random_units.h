/*
 * Random small traces for engines over units: threads that are all concurrent,
 * locks taken in ascending order, so that nobody can wait for ever. One for each
 * seed.
 *
 * Who may include this: tests/property_units.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_UNITS_RANDOM_UNITS_H
#define ATOMSAN_TESTS_PROPERTY_UNITS_RANDOM_UNITS_H

#include "trace.h"

enum units_shape {
	TWO_BLOCKS, /* two threads, a transaction each; locks nest */
	MANY_UNITS, /* more threads, more transactions, operations outside; locks nest */
	CROSSED,    /* the same, locks released in any order, and held from unit to unit */
	UNITS_SHAPES
};

void random_units(struct trace *t, uint64_t seed, enum units_shape shape);

#endif
