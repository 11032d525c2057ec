/*
 * Steps and blocks in words, and what joins one step to the next: what every
 * form for people needs to know about a cycle.
 *
 * Names are made safe on the way (see show.h), cut where they are too long for
 * a sentence; whatever is NULL is printed as "?".
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_STEP_H
#define ATOMSAN_REPORT_STEP_H

#include <stdbool.h>

#include "base/str.h"
#include "engine/finding.h"

/* What ties a step to the one before it. */
enum step_tie {
	STEP_SAME_BLOCK,
	STEP_SAME_THREAD, /* but another transaction: program order */
	STEP_FORK,        /* the one before created this one's thread */
	STEP_JOIN,        /* this one waited for the end of that one's thread */
	STEP_CONFLICT,
};
enum step_tie step_tie(const struct finding_step *before, const struct finding_step *s);

/* In one transaction? A step outside blocks is alone in its own. */
bool step_same_block(const struct finding_step *a, const struct finding_step *b);

/* In the transaction that the finding blames? */
bool step_is_blamed(const struct finding *f, const struct finding_step *s);

/* How many transactions are on the cycle. */
size_t step_count_transactions(const struct finding *f);

/* Two strings that may be NULL. */
bool step_same_name(const char *a, const char *b);

/*
 * A recorded run's variable or lock may be called "heap block of 24 bytes,
 * offset 8 (allocated at bank.c:9) #2": without the aside. Not made safe yet.
 */
void step_add_without_aside(struct str *b, const char *name);
/* What a step is about, so where the run was recorded. Not made safe yet. */
void step_add_operand(struct str *b, const struct finding_step *s);
/* The same for the variable that a finding is about, safe and at most so wide. */
void step_add_variable(struct str *b, const struct finding *f, size_t max);

/* A label; of a recorded run's function "add(int, long) const" just "add". Not made safe yet. */
void step_add_short_label(struct str *b, const struct finding *f, const char *label);

/*
 * A recorded run's variable or lock may have no short name. In the report such
 * a one has a number and its name is told once, below the picture: "r([1])".
 * Returns the number of what the step is about; 0: it needs none. Numbers go
 * up with the steps. Where there are more than STEP_FOOTNOTES_MAX steps nothing
 * has one.
 */
enum { STEP_FOOTNOTES_MAX = 32 };
size_t step_footnote(const struct finding *f, const struct finding_step *s);
/* The number of a lock that some step is about; 0: none has one. */
size_t step_lock_footnote(const struct finding *f, const char *lock);

/*
 * Where it was; nothing where that is not known. In a recorded run the line in
 * the program's own source (stack.h), without folders. Not made safe yet.
 */
void step_add_place(struct str *b, const struct finding *f, const struct finding_step *s);
/* A place that has no stack, such as where a block began; or NULL. */
void step_add_short_place(struct str *b, const struct finding *f, const char *place);

/* "r(balance)" */
void step_add_op(struct str *b, const struct finding_step *s, size_t max);
/* "read of balance" */
void step_add_noun(struct str *b, const struct finding_step *s);
/* "read balance", as in "can read balance" */
void step_add_verb(struct str *b, const struct finding_step *s);
/* "wrote balance" */
void step_add_past(struct str *b, const struct finding_step *s);

/* "thread T1 read balance (event 11)": who did what; a live finding has no numbers of events */
void step_add_deed(struct str *b, const struct finding *f, const struct finding_step *s);

/*
 * A block's name in at most so many columns. What is too long loses, one by one until it fits, its
 * parameters, the type that it returns, the arguments of templates, namespaces, its class, its end.
 */
void step_add_label(struct str *b, const char *label, size_t max);
/* "'deposit'", "block at event 3": without a word in front */
void step_add_block(struct str *b, const char *label, uint64_t begin);
/* "thread T2's block 'deposit'", "thread T2" outside blocks */
void step_add_owner(struct str *b, const char *thread, const char *label, uint64_t begin);
/* "'deposit' (T2)", "event 9 (T2)" outside blocks */
void step_add_transaction(struct str *b, const struct finding *f, const struct finding_step *s);

#endif
