/*
 * doublechecker while the program runs, as a tool: see icd.h for what it does and
 * for its three kinds of runs.
 *
 * Included by: the runtime's start-up code.
 */
#ifndef ATOMSAN_RUNTIME_DOUBLECHECKER_DOUBLECHECKER_H
#define ATOMSAN_RUNTIME_DOUBLECHECKER_DOUBLECHECKER_H

#include <stdbool.h>

/* Become the tool, if there is room for it. `first`, `second`: a first or second run, not both. */
void doublechecker_init(bool first, bool second);

#endif
