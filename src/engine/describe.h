/*
 * From the numbers of a trace to the words of a finding, for every engine. All
 * strings and arrays that are made here belong to the finding.
 *
 * If the names are those of a recorded run (recorded.h) and have a resolver, a
 * finding also gets what only such a run knows: stacks, where memory was
 * allocated, and which thread created a thread and where. Otherwise these stay
 * empty.
 *
 * Included by: engines, refine_learn.c, and reporter/explain_steps.c, which has no engine to ask.
 */
#ifndef ATOMSAN_ENGINE_DESCRIBE_H
#define ATOMSAN_ENGINE_DESCRIBE_H

#include "engine/finding.h"
#include "engine/heldlocks.h"
#include "trace/event.h"
#include "trace/names.h"

/* Returns a label or place; NULL if there is none. */
const char *describe_string(struct finding *f, const struct names *names, strref ref);
/*
 * Returns the operand of an event, named as in the finding's steps; NULL if it has none. The
 * finding is sealed.
 */
const char *describe_operand(struct finding *f, const struct names *names, const struct event *e);
/* Set the operand of a step, and its expression; finding_seal() may change the operand's name. */
void describe_step_operand(struct finding *f, const struct names *names, const struct event *e,
			   struct finding_step *step);
struct finding_stack describe_stack(struct finding *f, const struct names *names, strref place);

/* Returns a thread's name, and adds the thread to the finding's list if its creation is known. */
const char *describe_thread(struct finding *f, const struct names *names, uint32_t thread);

/* Set the variable that the finding is about. */
void describe_variable(struct finding *f, const struct names *names, uint32_t var);

/* Set the locks that the thread held before a step: see finding.h. */
void describe_held(struct finding *f, const struct names *names, struct finding_step *step,
		   struct heldset_view locks);

/* Returns the transaction of a step. */
struct finding_block describe_block(const struct finding_step *s);

#endif
