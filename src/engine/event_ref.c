#include "engine/event_ref.h"

#include "base/mem.h"
#include "engine/describe.h"

#include "base/banned.h"

void event_ref_blocks_room(struct event_ref_blocks *b, uint32_t nthreads)
{
	MEM_GROW0(b->v, b->cap, nthreads);
}

void event_ref_blocks_free(struct event_ref_blocks *b)
{
	mem_free(b->v);
	*b = (struct event_ref_blocks){0};
}

struct finding_step event_ref_step(struct finding *f, const struct names *names,
				   const struct event_ref *s)
{
	struct event e = {
		.thread = s->thread, .operand = s->operand, .op = s->op, .place = s->place};
	struct finding_step step = {
		.thread = describe_thread(f, names, s->thread),
		.event = s->event,
		.op = op_info[s->op].spelling,
		.past = op_info[s->op].past,
		.label = describe_string(f, names, s->label),
		.begin = s->begin,
		.place = describe_string(f, names, s->place),
		.begin_place = describe_string(f, names, s->begin_place),
		.stack = describe_stack(f, names, s->place),
		.var = op_is_access(s->op) || s->op == OP_FREE ? s->operand : UINT32_MAX,
	};

	describe_step_operand(f, names, &e, &step);
	return step;
}
