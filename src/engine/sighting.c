#include "engine/sighting.h"

#include "base/mem.h"
#include "base/str.h"

#include "base/banned.h"

void sighting_blocks_room(struct sighting_blocks *b, uint32_t nthreads)
{
	MEM_GROW0(b->v, b->cap, nthreads);
}

void sighting_blocks_free(struct sighting_blocks *b)
{
	mem_free(b->v);
	*b = (struct sighting_blocks){0};
}

/* NULL for none. */
static const char *string(struct finding *f, const struct names *names, strref ref)
{
	struct str s = STR_INIT;
	char *copy = NULL;

	if (ref) {
		names_add_string(names, ref, &s);
		copy = arena_strndup(&f->arena, s.s, s.n);
	}
	str_free(&s);
	return copy;
}

struct finding_step sighting_step(struct finding *f, const struct names *names,
				  const struct sighting *s)
{
	struct event e = {.thread = s->thread, .operand = s->operand, .op = s->op};
	struct finding_step step = {
		.thread = arena_strdup(&f->arena, names_thread(names, s->thread)),
		.event = s->event,
		.op = op_info[s->op].spelling,
		.past = op_info[s->op].past,
		.label = string(f, names, s->label),
		.begin = s->begin,
		.place = string(f, names, s->place),
		.begin_place = string(f, names, s->begin_place),
	};
	struct str operand = STR_INIT;

	names_add_operand(names, &e, &operand);
	step.operand = arena_strndup(&f->arena, operand.s, operand.n);
	str_free(&operand);
	return step;
}
