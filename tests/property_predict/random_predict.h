/*
 * Random small traces for `predict`: each thread is given a script of blocks,
 * locks and accesses, and a random scheduler runs them; what is stuck, is left
 * out. A seed draws first what kind of trace it is.
 *
 * Who may include this: tests/property_predict.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_PREDICT_RANDOM_PREDICT_H
#define ATOMSAN_TESTS_PROPERTY_PREDICT_RANDOM_PREDICT_H

#include "trace.h"

/* Replaces what `t` holds, in canonical form. */
void random_predict(struct trace *t, uint64_t seed);

#endif
