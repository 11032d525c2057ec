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

/*
 * For a group_order: about the same transaction, which may close several cycles and is
 * one violation all the same. What has no block is by itself.
 */
int group_order_transaction(const struct finding *a, const struct finding *b);
/* The one to show: data before locks, a culprit before none, then the first. */
const struct finding *group_best(const struct group *g);
/* How often any of them was seen. */
uint64_t group_seen(const struct group *g);

#endif
