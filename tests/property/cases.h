/*
 * Named traces with the correct answers, worked out by hand. They test the
 * twin, and they test the engines before any random trace does.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_CASES_H
#define ATOMSAN_TESTS_PROPERTY_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "trace.h"

struct fixed_case {
	const char *name;
	const char *text;
	uint64_t first;      /* event of the first violation; 0: serializable */
	uint64_t refuted[4]; /* begins, outermost first; none: no block is to blame */
	bool data;           /* whether the first violation rests on data */
	uint64_t later_data; /* if not 0, the event of a later finding that rests on data */
};

extern const struct fixed_case fixed_cases[]; /* ends with a NULL name */

/* Parses the case's trace into `t`. A mistake in it is one of cases.c, and ends the program. */
void case_trace(const struct fixed_case *c, struct trace *t);

/*
 * Compares the twin's answers with those of all cases. Returns for how many cases the twin is
 * wrong, and adds a line about each to `out`.
 */
unsigned cases_check_twin(struct str *out);

#endif
