#include "engine/precise/explain.h"

#include "base/mem.h"
#include "engine/precise/cycle.h"

#include "base/banned.h"

void closings_add(struct closings *c, uint64_t event, uint64_t begin, uint32_t thread)
{
	if (c->n && c->v[c->n - 1].event == event)
		return;
	MEM_GROW(c->v, c->cap, c->n + 1);
	c->v[c->n++] = (struct closing){event, begin, thread};
}

struct explain {
	const struct closings *closings;
	struct finding_sink *sink;
	struct cycle_find *find; /* first */
	struct cycle *cycles;
	struct cycle_describe *describe; /* then */
};

struct explain *explain_new(const struct closings *closings, const struct frontier_given *given,
			    struct finding_sink *sink)
{
	struct explain *x = mem_zalloc(sizeof *x);

	x->closings = closings;
	x->sink = sink;
	x->find = cycle_find_new(closings, given);
	return x;
}

void explain_take(struct explain *x, const struct batch *b)
{
	if (x->find)
		cycle_find_take(x->find, b);
	else
		cycle_describe_take(x->describe, b);
}

uint64_t explain_finish(struct explain *x)
{
	if (!x->find)
		return 0;
	x->cycles = cycle_find_done(x->find);
	x->find = NULL;
	x->describe = cycle_describe_new(x->cycles, x->closings->n, x->sink);
	return x->closings->v[x->closings->n - 1].event;
}

void explain_free(struct explain *x)
{
	if (!x)
		return;
	if (x->find)
		x->cycles = cycle_find_done(x->find);
	if (x->describe)
		cycle_describe_free(x->describe);
	cycles_free(x->cycles, x->closings->n);
	mem_free(x);
}
