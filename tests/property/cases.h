/*
 * Named traces with what is true of them, worked out by hand: they test the
 * twin, and the engines before any random trace does.
 *
 * Who may include this: tests/property.
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
	bool data;           /* it rests on data */
	uint64_t later_data; /* if not 0, a later finding that rests on data */
};

extern const struct fixed_case fixed_cases[]; /* ends with a NULL name */

/* Parses the case's trace; these are ours, so a mistake ends the program. */
void case_trace(const struct fixed_case *c, struct trace *t);

/* What the twin says of them all. Returns how many are wrong, named in `out`. */
unsigned cases_check_twin(struct str *out);

#endif
