/*
 * An event that an engine keeps for its report, with the transaction that it is
 * in; and how to make a step of a finding from it.
 *
 * Included by: engines.
 */
#ifndef ATOMSAN_ENGINE_EVENT_REF_H
#define ATOMSAN_ENGINE_EVENT_REF_H

#include <stddef.h>
#include <stdint.h>

#include "engine/finding.h"
#include "trace/event.h"
#include "trace/names.h"

struct event_ref {
	uint64_t event;
	uint64_t begin; /* of its transaction; 0 outside blocks */
	uint32_t thread, operand;
	strref place, label, begin_place;
	uint8_t op;
};

/* The transaction that each thread is in. */
struct event_ref_block {
	uint64_t begin; /* 0: in none */
	strref label, place;
};
struct event_ref_blocks {
	struct event_ref_block *v; /* by thread */
	size_t cap;
};

void event_ref_blocks_room(struct event_ref_blocks *b, uint32_t nthreads);
void event_ref_blocks_free(struct event_ref_blocks *b);

/* Call this for each event that begins or ends a transaction. */
static inline void event_ref_blocks_take(struct event_ref_blocks *b, const struct event *e,
					 uint64_t event)
{
	if (e->outer == OUTER_BEGIN)
		b->v[e->thread] = (struct event_ref_block){event, event_label(e), e->place};
	else if (e->outer == OUTER_END)
		b->v[e->thread] = (struct event_ref_block){0};
}

static inline struct event_ref event_ref_of(const struct event_ref_blocks *b, const struct event *e,
					    uint64_t event)
{
	const struct event_ref_block *block = &b->v[e->thread];

	return (struct event_ref){event,    block->begin, e->thread,    e->operand,
				  e->place, block->label, block->place, e->op};
}

/* Make a step of a finding; only the locks held are missing: see describe_held(). */
struct finding_step event_ref_step(struct finding *f, const struct names *names,
				   const struct event_ref *s);

#endif
