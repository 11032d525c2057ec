/*
 * atomizer: reduction in one pass (Flanagan and Freund, POPL 2004), with what is
 * known at each event. docs/engines/atomizer.md defines what is found.
 *
 * As long as a variable or lock does not take part (contention.h), it is ignored. From
 * then on it has a set of locks: those that were held at each use since.
 */
#include "base/mem.h"
#include "engine/contention.h"
#include "engine/engine.h"
#include "engine/event_ref.h"
#include "engine/heldlocks.h"
#include "engine/lock/mover.h"
#include "engine/phase.h"

#include "base/banned.h"

/* The locks that guard a variable or lock since it takes part. */
struct guard {
	heldset set;
	bool known;
};

struct atomizer {
	struct phases phases;
	struct heldlocks held;
	struct contention contention;
	struct event_ref_blocks blocks;
	struct guard *life, *lock;
	size_t life_cap, lock_cap;
	struct mover_run **run; /* by thread */
	size_t run_cap;
	struct finding_sink *sink;
	uint64_t found, cut;
};

static void *atomizer_create(const void *options, struct finding_sink *sink)
{
	struct atomizer *a = mem_zalloc(sizeof *a);

	(void)options;
	heldlocks_init(&a->held);
	a->sink = sink;
	return a;
}

/* Record a use under these locks. Returns whether a lock still guards it. */
static bool refine_guard(struct atomizer *a, struct guard *g, heldset under, bool reads)
{
	heldset mine = reads ? under : heldlocks_exclusive(&a->held, under);

	g->set = g->known ? heldlocks_common(&a->held, g->set, mine) : mine;
	g->known = true;
	return g->set != HELD_NONE;
}

static enum mover mover_of(struct atomizer *a, const struct event *e)
{
	heldset under = heldlocks_of(&a->held, e->thread);

	if (op_is_access(e->op)) {
		uint32_t life = contention_life(&a->contention, e->operand);

		if (!contention_life_takes_part(&a->contention, life))
			return MOVER_B;
		MEM_GROW0(a->life, a->life_cap, (size_t)life + 1);
		return refine_guard(a, &a->life[life], under, e->op == OP_READ) ? MOVER_B : MOVER_N;
	}
	if (!contention_lock_takes_part(&a->contention, e->operand))
		return MOVER_B;
	MEM_GROW0(a->lock, a->lock_cap, (size_t)e->operand + 1);
	if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
		return refine_guard(a, &a->lock[e->operand], under, e->op == OP_ACQUIRE_SHARED)
			       ? MOVER_B
			       : MOVER_R;
	return a->lock[e->operand].set != HELD_NONE ? MOVER_B : MOVER_L;
}

static void take_op(struct atomizer *a, const struct event *e, uint64_t event,
		    const struct names *names)
{
	enum mover mover = mover_of(a, e);
	struct event_ref at;

	if (!a->blocks.v[e->thread].begin || a->run[e->thread]->broken)
		return;
	at = event_ref_of(&a->blocks, e, event);
	if (mover_take(a->run[e->thread], mover, &at, heldlocks_of(&a->held, e->thread)))
		return;
	a->found++;
	a->sink->emit(a->sink, mover_describe(a->run[e->thread], names, &a->held));
}

static void restart_run(struct atomizer *a, uint32_t thread)
{
	if (!a->run[thread])
		a->run[thread] = mem_zalloc(sizeof *a->run[thread]);
	mover_begin(a->run[thread]);
}

static void take_event(struct atomizer *a, const struct event *e, uint64_t event,
		       const struct names *names)
{
	phases_take(&a->phases, e);
	contention_look(&a->contention, &a->phases, e);
	if (op_is_access(e->op)) {
		take_op(a, e, event, names);
	} else if (op_is_lock(e->op)) {
		take_op(a, e, event, names);
		heldlocks_take(&a->held, e);
	} else if (e->outer) {
		event_ref_blocks_take(&a->blocks, e, event);
		if (e->outer == OUTER_BEGIN)
			restart_run(a, e->thread);
	} else if ((e->op == OP_FORK || e->op == OP_JOIN || e->op == OP_BARRIER) &&
		   a->blocks.v[e->thread].begin) {
		a->cut++;
		restart_run(a, e->thread);
	}
}

static void atomizer_take(void *engine, const struct batch *b)
{
	struct atomizer *a = engine;
	const struct table *names = b->names->table;

	phases_room(&a->phases, names[NAMES_THREAD].n, names[NAMES_LOCK].n);
	contention_room(&a->contention, names[NAMES_VAR].n, names[NAMES_LOCK].n);
	heldlocks_room(&a->held, names[NAMES_THREAD].n);
	event_ref_blocks_room(&a->blocks, names[NAMES_THREAD].n);
	MEM_GROW0(a->run, a->run_cap, names[NAMES_THREAD].n);
	MEM_GROW0(a->lock, a->lock_cap, names[NAMES_LOCK].n);
	for (uint32_t i = 0; i < b->n; i++)
		if (b->ev[i].op != OP_NONE)
			take_event(a, &b->ev[i], b->first + i, b->names);
}

/* All findings were emitted during the pass. */
static uint64_t atomizer_finish(void *engine)
{
	(void)engine;
	return 0;
}

static size_t atomizer_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct atomizer *a = engine;

	stats[0] = (struct engine_stat){"not_reducible", a->found};
	stats[1] = (struct engine_stat){"blocks_cut", a->cut};
	stats[2] = (struct engine_stat){"unnested_releases", a->held.unnested};
	return 3;
}

static void atomizer_destroy(void *engine)
{
	struct atomizer *a = engine;

	for (size_t i = 0; i < a->run_cap; i++)
		mem_free(a->run[i]);
	mem_free(a->run);
	mem_free(a->life);
	mem_free(a->lock);
	phases_free(&a->phases);
	heldlocks_free(&a->held);
	contention_free(&a->contention);
	event_ref_blocks_free(&a->blocks);
	mem_free(a);
}

const struct engine_ops engine_atomizer = {
	.name = "atomizer",
	.origin = "Flanagan and Freund, POPL 2004",
	.finding =
		"this block is not of the form R* N? L*, by what the run had shown by then: it may "
		"not be atomic",
	.silence = "no block was seen to break that form; what a later part of the run shows about "
		   "earlier blocks is not considered",
	.noun = "possible atomicity violation",
	.second_pass = false,
	.create = atomizer_create,
	.take = atomizer_take,
	.finish = atomizer_finish,
	.stats = atomizer_stats,
	.destroy = atomizer_destroy,
};
