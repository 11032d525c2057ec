/*
 * Findings that belong together, as runs of one array. Groups come in the
 * order of their first finding, and so do the findings inside.
 *
 * Who may include this: report writers, commands.
 */
#ifndef ATOMSAN_REPORT_GROUP_H
#define ATOMSAN_REPORT_GROUP_H

#include <stddef.h>

#include "engine/finding.h"

/* Orders findings; those that it calls equal (0) are a group. */
typedef int group_order(const struct finding *a, const struct finding *b);

struct group {
	const struct finding **v;
	size_t n;
	size_t first; /* index of v[0] in the list */
};

struct groups {
	struct group *v;
	size_t n;
	const struct finding **all;
};

struct groups group_by(const struct finding_list *list, group_order *order);
void group_free(struct groups *groups);

/* For a group_order: NULL before all strings. */
int group_order_string(const char *a, const char *b);

#endif
