/*
 * reduction: Lipton's reduction with the knowledge of the whole run, in the form of Wang
 * and Stoller (RV 2003, TSE 2006). docs/engines/reduction.md defines what is found.
 *
 * The first pass finds out what takes part, the second keeps the segments; then each
 * transaction is matched against (R + Acq B* Rel)* N? (L + Acq B* Rel)*.
 */
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/lock/mover.h"
#include "engine/lock/race.h"
#include "engine/segment.h"

#include "base/banned.h"

struct open_section {
	uint32_t lock, op, accesses;
};

struct reduction {
	struct segments segments;
	struct races races;
	bool recording;
	struct finding_sink *sink;
	bool *skip; /* operations of the current transaction */
	size_t skip_cap;
	struct open_section *section;
	size_t section_cap;
	uint64_t transactions, found, empty;
};

static void *reduction_create(const void *options, struct finding_sink *sink)
{
	struct reduction *r = mem_zalloc(sizeof *r);

	(void)options;
	segments_init(&r->segments);
	r->sink = sink;
	return r;
}

static void reduction_take(void *engine, const struct batch *b)
{
	struct reduction *r = engine;

	(r->recording ? segments_record : segments_look)(&r->segments, b);
}

/*
 * Skip Acq B* Rel: a lock that is held over no access that is kept. It orders nothing
 * that matters, and without it more interleavings are possible, not fewer.
 */
static void skip_empty(struct reduction *r, const struct segment *t)
{
	const struct segment_op *op = segment_ops(&r->segments, t);
	uint32_t accesses = 0, n = 0;

	MEM_GROW(r->skip, r->skip_cap, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t k = n;

		r->skip[i] = false;
		if (op_is_access(op[i].op)) {
			accesses++;
		} else if (op[i].op == OP_ACQUIRE || op[i].op == OP_ACQUIRE_SHARED) {
			MEM_GROW(r->section, r->section_cap, (size_t)n + 1);
			r->section[n++] = (struct open_section){op[i].what, i, accesses};
		} else {
			while (k > 0 && r->section[k - 1].lock != op[i].what)
				k--;
			if (!k)
				continue;
			if (r->section[k - 1].accesses == accesses) {
				r->skip[i] = r->skip[r->section[k - 1].op] = true;
				r->empty++;
			}
			for (n--; k <= n; k++)
				r->section[k - 1] = r->section[k];
		}
	}
}

static enum mover mover_of(const struct reduction *r, const struct segment *t, uint32_t i)
{
	enum op op = segment_ops(&r->segments, t)[i].op;

	if (!r->races.contended[t->first + i])
		return MOVER_B;
	if (op_is_access(op))
		return MOVER_N;
	return op == OP_ACQUIRE || op == OP_ACQUIRE_SHARED ? MOVER_R : MOVER_L;
}

static void judge_segment(struct reduction *r, const struct segment *t)
{
	struct mover_run run;

	skip_empty(r, t);
	mover_begin(&run);
	for (uint32_t i = 0; i < t->n; i++) {
		struct event_ref at;

		if (r->skip[i])
			continue;
		at = segments_event_ref(&r->segments, t, i);
		if (!mover_take(&run, mover_of(r, t, i), &at,
				segment_ops(&r->segments, t)[i].held)) {
			r->found++;
			r->sink->emit(r->sink,
				      mover_describe(&run, r->segments.names, &r->segments.held));
			return;
		}
	}
}

static uint64_t reduction_finish(void *engine)
{
	struct reduction *r = engine;

	if (!r->recording) {
		segments_learned(&r->segments);
		r->recording = true;
		return r->segments.events;
	}
	segments_done(&r->segments);
	races_find(&r->races, &r->segments);
	for (size_t i = 0; i < r->segments.n; i++) {
		if (!r->segments.segment[i].transaction)
			continue;
		r->transactions++;
		judge_segment(r, &r->segments.segment[i]);
	}
	return 0;
}

static size_t reduction_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct reduction *r = engine;

	stats[0] = (struct engine_stat){"transactions_kept", r->transactions};
	stats[1] = (struct engine_stat){"not_reducible", r->found};
	stats[2] = (struct engine_stat){"empty_sections", r->empty};
	stats[3] = (struct engine_stat){"assumed_to_race", r->races.assumed};
	stats[4] = (struct engine_stat){"unnested_releases", r->segments.unnested};
	return 5;
}

static void reduction_destroy(void *engine)
{
	struct reduction *r = engine;

	segments_drop(&r->segments);
	races_free(&r->races);
	mem_free(r->skip);
	mem_free(r->section);
	mem_free(r);
}

const struct engine_ops engine_reduction = {
	.name = "reduction",
	.origin = "Wang and Stoller 2003-2006, after Lipton",
	.finding = "this block is not of the form R* N? L*, by what the whole run shows: it may "
		   "not be atomic",
	.silence = "in whatever order the threads run, the blocks of this run are atomic under its "
		   "locks, if there is no deadlock",
	.noun = "possible atomicity violation",
	.second_pass = true,
	.create = reduction_create,
	.take = reduction_take,
	.finish = reduction_finish,
	.stats = reduction_stats,
	.destroy = reduction_destroy,
};
