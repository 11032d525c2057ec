/*
 * The tool `doublechecker`: the imprecise check of DoubleChecker while the program
 * runs, and a precise replay of what it suspects. icd.h says how it works and what
 * its three kinds of runs are.
 *
 * Included by: start.c, doublechecker.c.
 */
#ifndef ATOMSAN_RUNTIME_DOUBLECHECKER_DOUBLECHECKER_H
#define ATOMSAN_RUNTIME_DOUBLECHECKER_DOUBLECHECKER_H

#include <stdbool.h>

/*
 * Become the tool, unless there is no memory for it. `first` and `second` choose a first or a
 * second run; not both.
 */
void doublechecker_init(bool first, bool second);

#endif
