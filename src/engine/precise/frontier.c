/*
 * frontier: the verdict of Velodrome, at the same event, in time linear in the
 * trace: precise.h on all events. If a cycle is given, only that one is explained.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/precise/explain.h"
#include "engine/precise/precise.h"

#include "base/banned.h"

struct frontier {
	struct precise precise;
	const struct frontier_given *given;
	uint64_t begin; /* of the open transaction of the given thread */
	uint64_t nclosings;
	struct finding_sink *sink;
	struct explain *explain;
};

static void *frontier_create(const void *options, struct finding_sink *sink)
{
	const struct frontier_options *o = options;
	struct frontier *f = mem_zalloc(sizeof *f);

	precise_init(&f->precise);
	f->given = o->given;
	f->sink = sink;
	return f;
}

static void take_given(struct frontier *f, const struct batch *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->ev[i].thread == f->given->thread && b->ev[i].outer)
			f->begin = b->ev[i].outer == OUTER_BEGIN ? b->first + i : 0;
}

static void frontier_take(void *engine, const struct batch *b)
{
	struct frontier *f = engine;

	if (f->explain)
		explain_take(f->explain, b);
	else if (f->given)
		take_given(f, b);
	else
		precise_take(&f->precise, b);
}

static int by_event(const void *a, const void *b)
{
	const struct closing *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

static void close_given(struct frontier *f)
{
	struct closings *c = &f->precise.closings;
	size_t kept = 0;

	for (size_t i = 0; i < f->given->nclosing && f->begin; i++)
		if (f->given->closing[i].event)
			closings_add(c, f->given->closing[i].event, f->begin, f->given->thread);
	if (c->n)
		qsort(c->v, c->n, sizeof *c->v, by_event);
	for (size_t i = 0; i < c->n; i++)
		if (!kept || c->v[kept - 1].event != c->v[i].event)
			c->v[kept++] = c->v[i];
	c->n = kept;
}

static uint64_t frontier_finish(void *engine)
{
	struct frontier *f = engine;
	const struct closings *closings = &f->precise.closings;

	if (f->explain)
		return explain_finish(f->explain);
	if (f->given)
		close_given(f);
	f->nclosings = closings->n;
	if (!closings->n)
		return 0;
	precise_free(&f->precise);
	f->explain = explain_new(closings, f->given, f->sink);
	return closings->v[closings->n - 1].event;
}

static size_t frontier_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct frontier *f = engine;

	stats[0] = (struct engine_stat){"closing_events", f->nclosings};
	return 1;
}

static void frontier_destroy(void *engine)
{
	struct frontier *f = engine;

	precise_free(&f->precise);
	explain_free(f->explain);
	mem_free(f->precise.closings.v);
	mem_free(f);
}

const struct engine_ops engine_frontier = {
	.name = "frontier",
	.origin = "ours",
	.finding = "this very run is not serializable; the finding shows the cycle",
	.silence = "this run is serializable",
	.noun = "atomicity violation",
	.second_pass = true,
	.defaults = &(const struct frontier_options){0},
	.create = frontier_create,
	.take = frontier_take,
	.finish = frontier_finish,
	.stats = frontier_stats,
	.destroy = frontier_destroy,
};
