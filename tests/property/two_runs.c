#include "two_runs.h"

#include "base/mem.h"
#include "engine/doublechecker/options.h"
#include "engine/doublechecker/suspects.h"

#include "base/banned.h"

struct two_runs {
	const struct engine_ops *ops;
	void *engine;
	bool second;
	struct doublechecker_options options;
	struct suspects suspects;
	struct finding_sink *sink;
	uint64_t events;
};

static void *two_create(const void *options, struct finding_sink *sink)
{
	struct two_runs *t = mem_zalloc(sizeof *t);

	t->ops = engine_by_name("doublechecker");
	if (options)
		t->options = *(const struct doublechecker_options *)options;
	t->options.suspects_out = &t->suspects;
	t->sink = sink;
	t->engine = t->ops->create(&t->options, sink);
	return t;
}

static void two_take(void *engine, const struct batch *b)
{
	struct two_runs *t = engine;

	t->events = t->second ? t->events : b->first + b->n - 1;
	t->ops->take(t->engine, b);
}

static uint64_t two_finish(void *engine)
{
	struct two_runs *t = engine;
	uint64_t again = t->ops->finish(t->engine);

	if (t->second || again)
		return again;
	t->ops->destroy(t->engine);
	t->options.suspects_out = NULL;
	t->options.suspects_in = &t->suspects;
	t->engine = t->ops->create(&t->options, t->sink);
	t->second = true;
	return t->events;
}

static size_t two_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	struct two_runs *t = engine;

	return t->ops->stats(t->engine, stats);
}

static void two_destroy(void *engine)
{
	struct two_runs *t = engine;

	t->ops->destroy(t->engine);
	suspects_free(&t->suspects);
	mem_free(t);
}

const struct engine_ops engine_two_runs = {
	.name = "two-runs",
	.second_pass = true,
	.create = two_create,
	.take = two_take,
	.finish = two_finish,
	.stats = two_stats,
	.destroy = two_destroy,
};
