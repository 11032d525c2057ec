/*
 * The report for people, in four files: text.c writes the whole report,
 * text_finding.c one group of findings, text_cycle.c the picture and text_steps.c
 * the stacks. The sentences come from story.h.
 *
 * Included by: text.c, text_*.c, junit.c, src/campaign.
 */
#ifndef ATOMSAN_REPORT_TEXT_H
#define ATOMSAN_REPORT_TEXT_H

#include "report/group.h"
#include "report/report.h"

/* Write a group, without the lines of '=': its best finding in full, one line for each other. */
void text_finding_write(const struct report *rep, const struct group *g, FILE *out);
/* Write only the group's line "SUMMARY: ...", which scripts parse. */
void text_finding_summary(const struct report *rep, const struct group *g, FILE *out);

/*
 * Draw the steps: one column per thread, one row per event. If the picture would be
 * too wide or has too many steps, write a list instead, one step per line.
 */
void text_cycle_write(const struct report *rep, const struct finding *f, FILE *out);

/*
 * If the steps have stacks (the run was recorded), write the stack of each step with
 * its source line and the locks held, then where the variable was allocated and the
 * threads were created. Otherwise write nothing.
 */
void text_steps_write(const struct report *rep, const struct finding *f, FILE *out);
/* Write the locks held at the steps as a sentence; with stacks only what those do not say. */
void text_steps_locks(const struct finding *f, FILE *out);

#endif
