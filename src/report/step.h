/*
 * Steps and blocks in words, and how one step is linked to the next: what every
 * format for people needs to know about a cycle.
 *
 * Unless a comment says otherwise, names are made safe to print (show.h) and are
 * shortened if they are too long for a sentence. NULL is printed as "?".
 *
 * Included by: report writers, explain.c, confirm.c, tests.
 */
#ifndef ATOMSAN_REPORT_STEP_H
#define ATOMSAN_REPORT_STEP_H

#include <stdbool.h>

#include "base/str.h"
#include "engine/finding.h"

/* Why a step comes after the one before it. */
enum step_link {
	STEP_SAME_BLOCK,
	STEP_SAME_THREAD, /* but another transaction: program order */
	STEP_FORK,        /* the step before created this step's thread */
	STEP_JOIN,        /* this step joined the thread of the step before */
	STEP_CONFLICT,
};
enum step_link step_link(const struct finding_step *before, const struct finding_step *s);

/* Are both in the same transaction? A step outside blocks is a transaction by itself. */
bool step_same_block(const struct finding_step *a, const struct finding_step *b);

/* Is the step in the transaction that the finding blames? */
bool step_is_blamed(const struct finding *f, const struct finding_step *s);

/* The number of transactions on the cycle. */
size_t step_count_transactions(const struct finding *f);

/* Are the strings equal? Both may be NULL. */
bool step_same_name(const char *a, const char *b);

/*
 * Add the name of a variable or lock without its "(allocated at ...)". A recorded
 * run may call it "heap allocation of 24 bytes, offset 8 (allocated at bank.c:9) #2".
 * The text is not made safe.
 */
void step_add_without_aside(struct str *b, const char *name);
/* Add a step's operand; as above if the run was recorded. The text is not made safe. */
void step_add_operand(struct str *b, const struct finding_step *s);
/* The same for the variable of a finding, but made safe and cut to `max` columns. */
void step_add_variable(struct str *b, const struct finding *f, size_t max);

/* Add a label; of a recorded function "add(int, long) const" only "add". Not made safe. */
void step_add_short_label(struct str *b, const struct finding *f, const char *label);

/*
 * The footnote number of the step's operand, or 0 if it has none.
 *
 * A variable or lock of a recorded run may have no short name. The picture then
 * shows a number, "r([1])", and the name follows once below the picture. Numbers
 * count from 1 in the order of the steps. A finding with more than
 * STEP_FOOTNOTES_MAX steps has no footnotes.
 */
enum { STEP_FOOTNOTES_MAX = 32 };
size_t step_footnote(const struct finding *f, const struct finding_step *s);
/* The footnote number of a lock that is the operand of some step, or 0. */
size_t step_lock_footnote(const struct finding *f, const char *lock);

/*
 * Add the place of a step, or nothing if it is unknown. In a recorded run it is the
 * line in the program's own source (stack.h), without folders. Not made safe.
 */
void step_add_place(struct str *b, const struct finding *f, const struct finding_step *s);
/* The same for a place without a stack, such as the begin of a block; it may be NULL. */
void step_add_short_place(struct str *b, const struct finding *f, const char *place);

/* Add "r(balance)", at most `max` columns. */
void step_add_op(struct str *b, const struct finding_step *s, size_t max);
/* Add "read of balance". */
void step_add_noun(struct str *b, const struct finding_step *s);
/* Add "read balance", as in "can read balance". */
void step_add_verb(struct str *b, const struct finding_step *s);
/* Add "wrote balance". */
void step_add_past(struct str *b, const struct finding_step *s);

/* Add "thread T1 read balance (event 11)"; without the event in a live finding. */
void step_add_deed(struct str *b, const struct finding *f, const struct finding_step *s);

/*
 * Add a block's name in at most `max` columns. A name that is too long loses, one after another
 * until it fits: parameters, return type, template arguments, namespaces, class, its own end.
 */
void step_add_label(struct str *b, const char *label, size_t max);
/* Add "'deposit'", or "block at event 3" if it has no label. */
void step_add_block(struct str *b, const char *label, uint64_t begin);
/* Add "thread T2's block 'deposit'", or "thread T2" outside blocks. */
void step_add_owner(struct str *b, const char *thread, const char *label, uint64_t begin);
/* Add "'deposit' (T2)", or "event 9 (T2)" outside blocks. */
void step_add_transaction(struct str *b, const struct finding *f, const struct finding_step *s);

#endif
