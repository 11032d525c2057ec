/*
 * The report for people, in five files: text.c has the whole, text_finding.c
 * one group of findings, text_story.c the sentences, text_cycle.c the picture
 * and text_steps.c the stacks in it.
 *
 * Who may include this: those five.
 */
#ifndef ATOMSAN_REPORT_TEXT_H
#define ATOMSAN_REPORT_TEXT_H

#include "report/group.h"
#include "report/report.h"

/* Between the two lines of '=': the best of the group in full, a line for each of the others. */
void text_finding_write(const struct report *rep, const struct group *g, FILE *out);
/* Its line "SUMMARY: ...", for scripts. */
void text_finding_summary(const struct report *rep, const struct group *g, FILE *out);
/* Is it about a block that is not atomic? (Else about a variable, or an order of locks.) */
bool text_finding_is_atomicity(const struct finding *f);

/* The block that a finding is about: the blamed one, else the one that it names. */
const struct finding_block *text_finding_subject(const struct finding *f);

/* What happened. */
void text_story_write(const struct report *rep, const struct finding *f, FILE *out);
/* Is it the mere cycle, with nobody to blame? */
bool text_story_is_blameless(const struct finding *f);

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
