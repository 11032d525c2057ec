/*
 * blocks: can two transactions be interleaved so that no serial order of them explains
 * the result (Wang and Stoller, TSE 2006)? docs/engines/blocks.md defines what is found.
 *
 * The first pass finds out what takes part, the second keeps the segments. Then blocks
 * are compared, not transactions (judge.c), and each transaction with a block that can
 * be cut is a finding. With --blocks=sets the others are searched for cycles through
 * three or more transactions (sets.c).
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/blocks/judge.h"
#include "engine/blocks/options.h"
#include "engine/blocks/sets.h"
#include "engine/engine.h"
#include "engine/segment.h"
#include "engine/describe.h"

#include "base/banned.h"

struct blocks {
	struct segments segments;
	struct blocks_judge judge;
	struct blocks_sets sets;
	bool recording, want_sets;
	struct finding_sink *sink;
	uint64_t transactions, found, found_sets;
};

static void *blocks_create(const void *options, struct finding_sink *sink)
{
	const struct blocks_options *o = options;
	struct blocks *b = mem_zalloc(sizeof *b);

	segments_init(&b->segments);
	b->want_sets = o->what && !strcmp(o->what, "sets");
	b->sink = sink;
	return b;
}

static void blocks_take(void *engine, const struct batch *batch)
{
	struct blocks *b = engine;

	(b->recording ? segments_record : segments_look)(&b->segments, batch);
}

static void add_step(const struct blocks *b, struct finding *f, struct str *pattern,
		     const struct segment *t, uint32_t op)
{
	str_fmt(pattern, "%s%s", f->nsteps ? "-" : "",
		op_info[segment_ops(&b->segments, t)[op].op].spelling);
	f->steps[f->nsteps++] = segments_step(&b->segments, t, op, f);
}

static struct finding *start_finding(const struct blocks *b, const struct segment *t, size_t steps,
				     size_t with)
{
	struct finding *f = finding_new();

	f->status = FINDING_PREDICTED;
	f->kind = "blocks";
	f->rests_on = RESTS_ON_DATA;
	f->transaction = segments_block(&b->segments, t, f);
	f->steps = arena_alloc(&f->arena, steps * sizeof *f->steps);
	f->with = arena_alloc(&f->arena, with * sizeof *f->with);
	return f;
}

static void end_finding(struct blocks *b, struct finding *f, struct str *pattern)
{
	f->pattern = arena_strndup(&f->arena, pattern->s, pattern->n);
	str_free(pattern);
	for (size_t i = 0; i < f->nsteps; i++)
		f->event = f->steps[i].event > f->event ? f->steps[i].event : f->event;
	finding_seal(f);
	b->sink->emit(b->sink, f);
}

static void emit_cut(struct blocks *b, const struct segment *t, const struct blocks_cut *cut)
{
	struct finding *f = start_finding(b, t, cut->nsteps, 1);
	const struct segment *other = &b->segments.segment[cut->other[0].segment];
	struct str pattern = STR_INIT;

	f->with[f->nwith++] = segments_block(&b->segments, other, f);
	for (uint8_t i = 0; i < cut->nsteps; i++) {
		uint8_t who = cut->order[i];

		if (who < 2)
			add_step(b, f, &pattern, t, cut->own[who]);
		else
			add_step(b, f, &pattern, &b->segments.segment[cut->other[who - 2].segment],
				 cut->other[who - 2].op);
	}
	if (cut->nother == 1)
		describe_variable(
			f, b->segments.names,
			segments_var(&b->segments, segment_ops(&b->segments, t)[cut->own[0]].what));
	end_finding(b, f, &pattern);
}

static void emit_set(void *arg, const struct blocks_cycle *c)
{
	struct blocks *b = arg;
	const struct segment *t = &b->segments.segment[c->part[0].segment];
	struct finding *f = start_finding(b, t, 2 * (size_t)c->n, c->n);
	struct str pattern = STR_INIT;

	for (uint32_t i = 1; i < c->n; i++)
		f->with[f->nwith++] =
			segments_block(&b->segments, &b->segments.segment[c->part[i].segment], f);
	for (uint32_t i = 0; i < c->nsteps; i++)
		add_step(b, f, &pattern, &b->segments.segment[c->step[i].segment], c->step[i].op);
	b->found_sets++;
	end_finding(b, f, &pattern);
}

static uint64_t blocks_finish(void *engine)
{
	struct blocks *b = engine;
	bool *bad;

	if (!b->recording) {
		segments_learned(&b->segments);
		b->recording = true;
		return b->segments.events;
	}
	segments_done(&b->segments);
	blocks_judge_init(&b->judge, &b->segments);
	bad = mem_zalloc(b->segments.n + 1);
	for (size_t i = 0; i < b->segments.n; i++) {
		const struct segment *t = &b->segments.segment[i];
		struct blocks_cut cut = {0};

		if (!t->transaction)
			continue;
		b->transactions++;
		bad[i] = blocks_judge_segment(&b->judge, t, &cut);
		if (!bad[i])
			continue;
		b->found++;
		emit_cut(b, t, &cut);
	}
	if (b->want_sets)
		blocks_sets_find(&b->sets, &b->segments, bad, emit_set, b);
	mem_free(bad);
	return 0;
}

static size_t blocks_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct blocks *b = engine;
	size_t n = 0;

	stats[n++] = (struct engine_stat){"transactions_kept", b->transactions};
	stats[n++] = (struct engine_stat){"blocks", b->judge.blocks};
	stats[n++] = (struct engine_stat){"cut", b->found};
	stats[n++] = (struct engine_stat){"wide_transactions", b->judge.wide};
	stats[n++] = (struct engine_stat){"comparisons_given_up", b->judge.given_up};
	stats[n++] = (struct engine_stat){"unnested_releases", b->segments.unnested};
	if (b->want_sets) {
		stats[n++] = (struct engine_stat){"sets", b->found_sets};
		stats[n++] = (struct engine_stat){"search_steps", b->sets.steps};
		stats[n++] = (struct engine_stat){"search_cut_short", b->sets.cut_short};
	}
	return n;
}

static void blocks_destroy(void *engine)
{
	struct blocks *b = engine;

	if (b->judge.u)
		blocks_judge_free(&b->judge);
	segments_drop(&b->segments);
	mem_free(b);
}

const struct opt blocks_opts[] = {
	OPT_STR(0, "blocks", "WHAT", OPT_FIELD(struct blocks_options, what),
		"blocks: pairs (the default) of transactions, or sets"),
	OPT_END,
};

static int blocks_check(const void *options, struct err *err)
{
	const struct blocks_options *o = options;

	if (o->what && strcmp(o->what, "pairs") && strcmp(o->what, "sets"))
		return err_fail(err, "--blocks takes pairs or sets, not '%s'", o->what);
	return 0;
}

const struct engine_ops engine_blocks = {
	.name = "blocks",
	.origin = "Wang and Stoller, TSE 2006",
	.finding = "the locks of this run allow an interleaving of this block with another that no "
		   "order of the two explains",
	.silence = "no two transactions of this run can be interleaved so; with --blocks=sets, no "
		   "set of them; both only if there is no deadlock",
	.noun = "possible atomicity violation",
	.second_pass = true,
	.opts = blocks_opts,
	.defaults = &(const struct blocks_options){0},
	.check = blocks_check,
	.create = blocks_create,
	.take = blocks_take,
	.finish = blocks_finish,
	.stats = blocks_stats,
	.destroy = blocks_destroy,
};
