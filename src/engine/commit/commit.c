/*
 * commit-conflict and commit-view: the commit-node algorithms (Wang and Stoller,
 * PPoPP 2006). Off-line: the first pass finds out which variables and locks take part,
 * the second records the segments, then all is judged at once.
 */
#include "engine/commit/commit.h"

#include "base/mem.h"
#include "engine/engine.h"

#include "base/banned.h"

struct commit {
	struct segments segments;
	struct finding_sink *sink;
	bool view, learned;
	struct commit_counts counts;
	uint64_t paths;
};

static void *create_engine(struct finding_sink *sink, bool view)
{
	struct commit *c = mem_zalloc(sizeof *c);

	segments_init(&c->segments);
	c->sink = sink;
	c->view = view;
	return c;
}

static void *conflict_create(const void *options, struct finding_sink *sink)
{
	(void)options;
	return create_engine(sink, false);
}

static void *view_create(const void *options, struct finding_sink *sink)
{
	(void)options;
	return create_engine(sink, true);
}

static void commit_take(void *engine, const struct batch *b)
{
	struct commit *c = engine;

	if (c->learned)
		segments_record(&c->segments, b);
	else
		segments_look(&c->segments, b);
}

static void emit_finding(void *arg, const struct commit_found *f)
{
	struct commit *c = arg;

	c->sink->emit(c->sink, commit_describe(&c->segments, f));
}

static uint64_t commit_finish(void *engine)
{
	struct commit *c = engine;
	struct commit_meet meet;

	if (!c->learned) {
		c->learned = true;
		segments_learned(&c->segments);
		if (c->segments.events)
			return c->segments.events;
	}
	segments_done(&c->segments);
	commit_meet_init(&meet, &c->segments, c->view);
	commit_cycle_find(&meet, &c->counts, emit_finding, c);
	c->paths = meet.sorts.npaths - 1;
	commit_meet_free(&meet);
	return 0;
}

static size_t commit_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct commit *c = engine;
	size_t n = 0;

	stats[n++] = (struct engine_stat){"units", c->segments.seen};
	stats[n++] = (struct engine_stat){"units_kept", c->segments.n};
	stats[n++] = (struct engine_stat){"transactions_kept", c->counts.transactions};
	stats[n++] = (struct engine_stat){"several_commit_nodes", c->counts.several_nodes};
	stats[n++] = (struct engine_stat){"on_a_cycle", c->counts.found};
	stats[n++] = (struct engine_stat){"lock_paths", c->paths};
	stats[n++] = (struct engine_stat){"unnested_releases", c->segments.unnested};
	return n;
}

static void commit_destroy(void *engine)
{
	struct commit *c = engine;

	segments_drop(&c->segments);
	mem_free(c);
}

const struct engine_ops engine_commit_conflict = {
	.name = "commit-conflict",
	.origin = "PPoPP 2006",
	.finding = "this block may not be atomic: in another run, conflicts can lead out of it and "
		   "back into it",
	.silence = "the locks keep every run of these blocks conflict-serializable, unless it "
		   "deadlocks",
	.noun = "atomicity violation",
	.second_pass = true,
	.create = conflict_create,
	.take = commit_take,
	.finish = commit_finish,
	.stats = commit_stats,
	.destroy = commit_destroy,
};

const struct engine_ops engine_commit_view = {
	.name = "commit-view",
	.origin = "PPoPP 2006",
	.finding = "this block may not be atomic: in another run, reads can see what no serial "
		   "order of the blocks shows them",
	.silence =
		"the locks keep every run of these blocks view-serializable, unless it deadlocks",
	.noun = "atomicity violation",
	.second_pass = true,
	.create = view_create,
	.take = commit_take,
	.finish = commit_finish,
	.stats = commit_stats,
	.destroy = commit_destroy,
};
