/*
 * Which findings are shown, in which order, and how many they are: decided once, here, so that
 * every format and every command says the same.
 *
 * Findings of a recorded or live run are grouped by *cause*: the same region, variable and source
 * lines, whatever the columns, the outer callers and the other thread's place are. A cycle of lock
 * operations has the cause of the data cycle in the same transaction or region. Causes are sorted
 * by rank.h and numbered; all findings of a cause have its number as their rank. Shown by default
 * are those that are worth it; the others are counted, and shown with -v:
 *
 *  - accesses that are probably not meant to belong together;
 *  - cycles on one atomic variable;
 *  - spin waits, hand-made locks and other synchronisation;
 *  - predictions that follow only locks (FEASIBLE_NO).
 *
 * Of other traces all findings are shown in the order of the engine; those of one transaction are
 * one, and ranks are numbers only.
 *
 * Included by: report writers, src/campaign, the reporter, commands, tests.
 */
#ifndef ATOMSAN_REPORT_SHOWN_H
#define ATOMSAN_REPORT_SHOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "engine/finding.h"
#include "report/group.h"

/* Would the finding be shown only with -v? It must have a class: rank_classify(). */
bool shown_is_hidden(const struct finding *f);

/*
 * Classify, sort and number the findings of a list, and set how many are shown. `verbose`: nothing
 * is hidden. `all`: each finding is a cause of its own. Hidden causes are added to l->hidden.
 */
void shown_select(struct finding_list *l, bool verbose, bool all);

/* The findings to show, in the order to show them: a group for each cause. group_free() frees it.
 */
struct groups shown_groups(const struct finding_list *l);

/* Returns how many causes make a command fail: those shown, except predictions by locks only. */
size_t shown_count(const struct finding_list *l);

/* Add "3 on atomic variables, 1 merely possible"; returns how many causes are hidden. */
uint64_t shown_add_hidden(struct str *b, const struct finding_list *l);

/* Add the cause of a finding as a text: equal for findings with the same cause. */
void shown_add_cause(struct str *b, const struct finding *f);

#endif
