/*
 * The finding about a transaction: an access in the one node, the accesses of others in
 * between, an access in the other node.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/commit/commit.h"

#include "base/banned.h"

static void add_step(const struct segments *u, struct finding *f, struct commit_op at)
{
	struct finding_step step = segments_step(u, &u->segment[at.segment], at.op, f);

	/* Both nodes may meet the same write. */
	if (f->nsteps && f->steps[f->nsteps - 1].event == step.event)
		return;
	f->steps[f->nsteps++] = step;
}

static void add_with(const struct segments *u, struct finding *f, uint32_t segment)
{
	struct finding_block block = segments_block(u, &u->segment[segment], f);

	for (size_t i = 0; i < f->nwith; i++)
		if (!strcmp(f->with[i].thread, block.thread) && f->with[i].begin == block.begin)
			return;
	f->with[f->nwith++] = block;
}

static bool ops_conflict(const struct segments *u, struct commit_op a, struct commit_op b)
{
	const struct segment_op *x = segment_ops(u, &u->segment[a.segment]) + a.op;
	const struct segment_op *y = segment_ops(u, &u->segment[b.segment]) + b.op;

	return x->what == y->what && (x->op != OP_READ || y->op != OP_READ);
}

/*
 * Both nodes meet the same transaction: one access is enough if it conflicts with both,
 * otherwise the two are shown in their own order.
 */
static void add_one_other(const struct segments *u, struct finding *f, const struct commit_found *c)
{
	struct commit_op a = c->a.other, b = c->b.other;

	if (ops_conflict(u, (struct commit_op){c->segment, c->a.op}, b))
		a = b;
	else if (ops_conflict(u, (struct commit_op){c->segment, c->b.op}, a))
		b = a;
	add_step(u, f, a.op < b.op ? a : b);
	add_step(u, f, a.op < b.op ? b : a);
}

struct finding *commit_describe(const struct segments *u, const struct commit_found *c)
{
	const struct segment *t = &u->segment[c->segment];
	struct finding *f = finding_new();
	uint32_t a = segment_ops(u, t)[c->a.op].what, b = segment_ops(u, t)[c->b.op].what;

	f->status = FINDING_PREDICTED;
	f->kind = "commit";
	f->transaction = segments_block(u, t, f);
	f->steps = arena_alloc(&f->arena, (2 * c->nhops + 4) * sizeof *f->steps);
	f->with = arena_alloc(&f->arena, (2 * c->nhops + 2) * sizeof *f->with);
	add_step(u, f, (struct commit_op){c->segment, c->a.op});
	add_with(u, f, c->a.other.segment);
	if (c->a.other.segment == c->b.other.segment)
		add_one_other(u, f, c);
	else
		add_step(u, f, c->a.other);
	for (size_t i = 0; i < c->nhops; i++) {
		if (!c->hop[i].met)
			continue;
		add_step(u, f, c->hop[i].from);
		add_with(u, f, c->hop[i].from.segment);
		add_step(u, f, c->hop[i].to);
		add_with(u, f, c->hop[i].to.segment);
	}
	if (c->a.other.segment != c->b.other.segment)
		add_step(u, f, c->b.other);
	add_with(u, f, c->b.other.segment);
	add_step(u, f, (struct commit_op){c->segment, c->b.op});
	f->event = f->steps[f->nsteps - 1].event;
	if (a == b)
		f->variable = f->steps[0].operand;
	finding_seal(f);
	return f;
}
