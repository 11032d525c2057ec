#include "engine/engine.h"

#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

extern const struct engine_ops engine_frontier, engine_velodrome, engine_lockset, engine_deadlock;
extern const struct engine_ops engine_doublechecker;
extern const struct engine_ops engine_predict, engine_atomizer, engine_reduction, engine_blocks;
extern const struct engine_ops engine_commit_conflict, engine_commit_view;

const struct engine_ops *const engines[] = {
	&engine_frontier,        &engine_velodrome,   &engine_doublechecker, &engine_predict,
	&engine_lockset,         &engine_atomizer,    &engine_reduction,     &engine_blocks,
	&engine_commit_conflict, &engine_commit_view, &engine_deadlock,      NULL,
};

const struct engine_ops *engine_by_name(const char *name)
{
	for (int i = 0; engines[i]; i++)
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	return NULL;
}

void *engine_create(const struct engine_ops *ops, const void *options, struct finding_sink *sink)
{
	return ops->create(options ? options : ops->defaults, sink);
}

/*
 * Take events 1 .. last, or all if `last` is 0. Returns 0 at the end or at `last`,
 * -1 if the trace broke off.
 */
static int run_pass(const struct engine_ops *ops, void *engine, struct reader *r, uint64_t last,
		    void (*tick)(struct reader *r, int pass), int pass_no, struct err *err)
{
	static struct event ev[READER_BATCH];
	uint64_t first = 1;
	int n;

	while ((n = reader_next(r, ev, err)) > 0) {
		struct batch b = {ev, (uint32_t)n, first, reader_names(r)};

		if (last && first + b.n - 1 > last)
			b.n = (uint32_t)(last - first + 1);
		ops->take(engine, &b);
		first += b.n;
		if (last && first > last)
			return 0;
		if (tick)
			tick(r, pass_no);
	}
	return n;
}

int engine_run(const struct engine_ops *ops, const void *options, struct reader *r, bool all,
	       void (*tick)(struct reader *r, int pass), struct engine_result *out, struct err *err)
{
	double start = clock_seconds();
	int pass_no = 1, rc;
	struct err again = {0};
	uint64_t last;
	void *engine;

	*out = (struct engine_result){.ops = ops};
	finding_list_init(&out->findings, all);
	engine = engine_create(ops, options, &out->findings.sink);
	rc = run_pass(ops, engine, r, 0, tick, pass_no, err);
	out->counts = *reader_counts(r);
	/* A trace that broke off in the first pass does so again, after the last event needed. */
	while ((last = ops->finish(engine)) != 0) {
		if (reader_rewind(r, &again) ||
		    run_pass(ops, engine, r, last, tick, ++pass_no, &again)) {
			rc = -1;
			*err = again;
			break;
		}
	}
	out->nstats = ops->stats(engine, out->stats);
	ops->destroy(engine);
	out->seconds = clock_seconds() - start;
	return rc;
}

void engine_result_free(struct engine_result *res)
{
	finding_list_free(&res->findings);
}
