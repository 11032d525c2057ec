/*
 * Makes a failing trace small: greedily takes away threads, stretches, single
 * events and pairs of one thread (a begin with its end, an acquire with its
 * release), and makes two variables or locks one, as long as the trace stays
 * legal and `fails` still says yes. Ends when nothing more can be taken away.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SHRINK_H
#define ATOMSAN_TESTS_PROPERTY_SHRINK_H

#include <stdbool.h>

#include "trace.h"

void shrink(struct trace *t, bool (*fails)(void *arg, const struct trace *t), void *arg);

#endif
