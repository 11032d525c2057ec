/*
 * Random small traces for `predict`. Each thread has a script of blocks, locks and
 * accesses, and a random scheduler runs the scripts. If all threads are stuck, the
 * rest is left out. The seed decides first what kind of trace it is.
 *
 * Included by: tests/property_predict.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_PREDICT_RANDOM_PREDICT_H
#define ATOMSAN_TESTS_PROPERTY_PREDICT_RANDOM_PREDICT_H

#include "trace.h"

/* Replaces the contents of `t`, in canonical form. */
void random_predict(struct trace *t, uint64_t seed);

#endif
