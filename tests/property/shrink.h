/*
 * Makes a failing trace small. It greedily removes threads, runs of adjacent
 * events, single events and pairs of one thread's events (a begin with its end, an
 * acquire with its release), and unites two variables or two locks, as long as the
 * trace stays legal and `fails` returns true. It ends when no such change is left.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_SHRINK_H
#define ATOMSAN_TESTS_PROPERTY_SHRINK_H

#include <stdbool.h>

#include "trace.h"

void shrink(struct trace *t, bool (*fails)(void *arg, const struct trace *t), void *arg);

#endif
