/*
 * The report for people, in four files: text.c has the whole, text_finding.c
 * one group of findings, text_cycle.c the picture and text_steps.c the stacks
 * in it. The sentences are story.h's.
 *
 * Who may include this: those four.
 */
#ifndef ATOMSAN_REPORT_TEXT_H
#define ATOMSAN_REPORT_TEXT_H

#include "report/group.h"
#include "report/report.h"

/* Between the two lines of '=': the best of the group in full, a line for each of the others. */
void text_finding_write(const struct report *rep, const struct group *g, FILE *out);
/* Its line "SUMMARY: ...", for scripts. */
void text_finding_summary(const struct report *rep, const struct group *g, FILE *out);

/*
 * The steps: a column a thread, a row an event. A list, one step a line, where
 * there are more threads than columns.
 */
void text_cycle_write(const struct report *rep, const struct finding *f, FILE *out);

/*
 * Of a recorded run: the stack of each step, with the line of the source and
 * the locks held; where the variable was allocated and the threads were
 * created. Nothing where there are no stacks.
 */
void text_steps_write(const struct report *rep, const struct finding *f, FILE *out);
/* The locks held at the steps, in a sentence; where there are stacks only what is not with them. */
void text_steps_locks(const struct finding *f, FILE *out);

#endif
