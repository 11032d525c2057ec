/*
 * How much a finding is worth reading, and what it is about.
 *
 * rank_classify() gives a finding its class (finding.h) and the reasons for it. The classes are
 * decided by the table `rules` in rank.c: each row is a predicate and the class that it means, and
 * the first row that holds decides. To add a rule: write a predicate and add a row.
 *
 * Most rules are about the *cut*: the last step of the blamed thread before another thread comes
 * between, and its first step after that. In the pattern r-w-w these are the read and the second
 * write.
 *
 * Included by: report writers, src/campaign, the reporter, commands, tests.
 */
#ifndef ATOMSAN_REPORT_RANK_H
#define ATOMSAN_REPORT_RANK_H

#include "base/str.h"
#include "engine/finding.h"

struct rank_cut {
	const struct finding_step *before, *after; /* of the blamed thread */
	size_t from, to;                           /* steps[from..to] are those in between */
};

/* Find the cut of a cycle or pattern. Returns false if the steps do not have that form. */
bool rank_find_cut(const struct finding *f, struct rank_cut *cut);

/*
 * Set the region (region.h), the class and the reasons. Does nothing if the
 * finding has a class.
 */
void rank_classify(struct finding *f);

/* Is it about the counter of a seqlock? Then the other accesses of the region are checked by it. */
bool rank_is_sequence(const struct finding *f);

/* For sorting: negative if `a` is more worth reading than `b`; 0 if they are equal in that. */
int rank_compare(const struct finding *a, const struct finding *b);

/* Add the first reason as a clause: "read, then written, under lock m, ..."; nothing without one.
 */
void rank_add_reason(struct str *b, const struct finding *f);

#endif
