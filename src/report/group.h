/*
 * Groups of findings that belong together. Groups are in the order of their first
 * findings; inside a group, findings keep the order of the list.
 *
 * Included by: report writers, commands, the reporter, tests.
 */
#ifndef ATOMSAN_REPORT_GROUP_H
#define ATOMSAN_REPORT_GROUP_H

#include <stddef.h>

#include "engine/finding.h"

/* Compares two findings, as for qsort(). Findings that compare equal form a group. */
typedef int group_order(const struct finding *a, const struct finding *b);

struct group {
	const struct finding **v;
	size_t n;
	size_t first; /* index of v[0] in the list */
};

struct groups {
	struct group *v;
	size_t n;
	const struct finding **all; /* the array that the groups point into */
};

/*
 * Form groups of the findings that are shown (shown.h); group_free() releases them. They point to
 * the findings of the list.
 */
struct groups group_by(const struct finding_list *list, group_order *order);
void group_free(struct groups *groups);

/* For use in a group_order: compares strings; NULL comes first. */
int group_order_string(const char *a, const char *b);

/*
 * A group_order: findings about the same transaction are equal, because a transaction that
 * closes several cycles is still one violation. A finding without a block is alone.
 */
int group_order_transaction(const struct finding *a, const struct finding *b);
/* The finding to show: data before lock order, then blamed before not blamed, then the first. */
const struct finding *group_best(const struct group *g);
/* The sum of the counts of its findings. */
uint64_t group_seen(const struct group *g);

#endif
