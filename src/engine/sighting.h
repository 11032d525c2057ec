/*
 * An event that an engine keeps for its report, with the transaction that it is
 * in; and the step of a finding that becomes of it.
 *
 * Who may include this: engines.
 */
#ifndef ATOMSAN_ENGINE_SIGHTING_H
#define ATOMSAN_ENGINE_SIGHTING_H

#include <stddef.h>
#include <stdint.h>

#include "engine/finding.h"
#include "trace/event.h"
#include "trace/names.h"

struct sighting {
	uint64_t event;
	uint64_t begin; /* of its transaction; 0 outside blocks */
	uint32_t thread, operand;
	strref place, label, begin_place;
	uint8_t op;
};

/* The transaction that each thread is in. */
struct sighting_block {
	uint64_t begin; /* 0: in none */
	strref label, place;
};
struct sighting_blocks {
	struct sighting_block *v; /* by thread */
	size_t cap;
};

void sighting_blocks_room(struct sighting_blocks *b, uint32_t nthreads);
void sighting_blocks_free(struct sighting_blocks *b);

/* Take each begin and end. */
static inline void sighting_blocks_take(struct sighting_blocks *b, const struct event *e,
					uint64_t event)
{
	if (e->outer == OUTER_BEGIN)
		b->v[e->thread] = (struct sighting_block){event, event_label(e), e->place};
	else if (e->outer == OUTER_END)
		b->v[e->thread] = (struct sighting_block){0};
}

static inline struct sighting sighting_of(const struct sighting_blocks *b, const struct event *e,
					  uint64_t event)
{
	const struct sighting_block *block = &b->v[e->thread];

	return (struct sighting){event,    block->begin, e->thread,    e->operand,
				 e->place, block->label, block->place, e->op};
}

/* In words; all but the locks held, see tell_held(). */
struct finding_step sighting_step(struct finding *f, const struct names *names,
				  const struct sighting *s);

#endif
