/*
 * An engine that combines two runs of doublechecker over the same trace: the first
 * run writes the suspects, and the second run checks them, with no other
 * information. Together they must find what the other engines find.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TWO_RUNS_H
#define ATOMSAN_TESTS_PROPERTY_TWO_RUNS_H

#include "engine/engine.h"

extern const struct engine_ops engine_two_runs;

#endif
