/*
 * Functions that turned out not to be meant as atomic while the program ran (they wait, or the
 * source says so), and the findings that blame only such functions: they are dropped.
 *
 * A function is known here by the name that reports have for it: two functions of the same name
 * count as one.
 *
 * Included by: the reporter, commands.
 */
#ifndef ATOMSAN_REPORT_LEFT_OUT_H
#define ATOMSAN_REPORT_LEFT_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/finding.h"
#include "trace/reader.h"

/* A set of names; all zero is the empty set. The strings belong to the set. */
struct left_out {
	char **v;
	size_t n, cap;
};

void left_out_add(struct left_out *names, const char *name);
bool left_out_has(const struct left_out *names, const char *name); /* `name` may be NULL */
void left_out_free(struct left_out *names);

/* Does the finding say nothing but that these functions, which are not meant to be, are not atomic?
 */
bool left_out_is_all_blamed(const struct left_out *names, const struct finding *f);

/*
 * Drop the findings that blame only functions which were left out later in the run that `r` has
 * read. Returns how many were dropped.
 */
size_t left_out_drop(struct reader *r, struct finding_list *findings);

/*
 * Drop the findings in regions that the specification excludes. Call this after context_add(): only
 * then the innermost function of a finding is known. Returns how many were dropped.
 */
size_t left_out_drop_regions(struct reader *r, struct finding_list *findings);

#endif
