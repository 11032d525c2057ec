/*
 * An engine made of two: doublechecker's first run over a trace, then its second
 * run over the same one, with nothing but the suspects in between. Of one and
 * the same run they must find together what the other engines find.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TWO_RUNS_H
#define ATOMSAN_TESTS_PROPERTY_TWO_RUNS_H

#include "engine/engine.h"

extern const struct engine_ops engine_two_runs;

#endif
