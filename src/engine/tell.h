/*
 * From a trace's numbers to a finding's words: what every engine needs that
 * has something to tell. All that is made here is the finding's own.
 *
 * Where the names are those of a recorded run (recorded.h) and have a resolver,
 * a finding also gets what only such a run knows: stacks, where a heap block was
 * allocated, who created a thread and where. Else these stay empty.
 *
 * Who may include this: engines, and reporter/explain_steps.c, which has no engine to ask.
 */
#ifndef ATOMSAN_ENGINE_TELL_H
#define ATOMSAN_ENGINE_TELL_H

#include "engine/finding.h"
#include "engine/heldlocks.h"
#include "trace/event.h"
#include "trace/names.h"

/* A label or place; NULL for none. */
const char *tell_string(struct finding *f, const struct names *names, strref ref);
/* What an event is about; NULL where that is nothing. */
const char *tell_operand(struct finding *f, const struct names *names, const struct event *e);
struct finding_stack tell_stack(struct finding *f, const struct names *names, strref place);

/* A thread's name; the finding's list of threads has it from then on, if it is known there. */
const char *tell_thread(struct finding *f, const struct names *names, uint32_t thread);

/* Set the variable that the finding is about. */
void tell_variable(struct finding *f, const struct names *names, uint32_t var);

/* Set the locks that the thread held when it came to a step: see finding.h. */
void tell_held(struct finding *f, const struct names *names, struct finding_step *step,
	       struct heldset_view locks);

/* The transaction that a step is in. */
struct finding_block tell_block(const struct finding_step *s);

#endif
