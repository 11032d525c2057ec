/*
 * frontier: the verdict of Velodrome, at the same event, in time linear in the
 * trace: precise.h on all events.
 */
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "engine/precise.h"

#include "base/banned.h"

struct frontier {
	struct precise precise;
	const struct engine_options *options;
	uint64_t nclosings; /* how many there were, told or not */
	struct finding_sink *sink;
	struct explain *explain;
};

static void *frontier_create(const struct engine_options *options, struct finding_sink *sink)
{
	struct frontier *f = mem_zalloc(sizeof *f);

	precise_init(&f->precise);
	f->options = options;
	f->sink = sink;
	return f;
}

static void frontier_take(void *engine, const struct batch *b)
{
	struct frontier *f = engine;

	if (f->explain)
		explain_take(f->explain, b);
	else
		precise_take(&f->precise, b);
}

/* Whether the others are told or not: an event closes the same cycle. */
static void drop_others(struct frontier *f)
{
	struct closings *c = &f->precise.closings;
	size_t kept = 0;

	f->nclosings = c->n;
	for (size_t i = 0; i < c->n; i++)
		if (!f->options->last_unit ||
		    (f->options->from && c->v[i].event >= f->options->from &&
		     c->v[i].thread == f->options->thread))
			c->v[kept++] = c->v[i];
	c->n = kept;
}

static uint64_t frontier_finish(void *engine)
{
	struct frontier *f = engine;
	const struct closings *closings = &f->precise.closings;

	if (f->explain)
		return explain_finish(f->explain);
	drop_others(f);
	if (!closings->n)
		return 0;
	precise_free(&f->precise);
	f->explain = explain_new(closings, f->sink);
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
	.finding = "this very run is not serializable; with the cycle",
	.silence = "this run is serializable",
	.noun = "atomicity violation",
	.second_pass = true,
	.create = frontier_create,
	.take = frontier_take,
	.finish = frontier_finish,
	.stats = frontier_stats,
	.destroy = frontier_destroy,
};
