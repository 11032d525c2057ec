#include "engine/lock/mover.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/describe.h"

#include "base/banned.h"

bool mover_take(struct mover_run *r, enum mover mover, const struct event_ref *at, heldset under)
{
	struct mover_op op = {*at, under, mover};

	if (r->broken)
		return true;
	if (r->n < MOVER_FIRST)
		r->first[r->n] = op;
	else
		r->last[r->n % MOVER_LAST] = op;
	r->n++;
	if (mover == MOVER_B)
		return true;
	if (r->left) {
		r->broken = mover != MOVER_L;
		return !r->broken;
	}
	if (mover != MOVER_R) {
		r->left = true;
		r->turn = op;
		r->turn_at = r->n - 1;
	}
	return true;
}

static void add_mover_step(struct finding *f, struct str *pattern, const struct mover_op *op,
			   const struct names *names, const struct heldlocks *locks)
{
	struct finding_step *step = &f->steps[f->nsteps];

	if (f->nsteps)
		str_addc(pattern, '-');
	str_addc(pattern, "BRLN"[op->mover]);
	*step = event_ref_step(f, names, &op->at);
	describe_held(f, names, step, heldlocks_view(locks, op->held));
	f->nsteps++;
}

struct finding *mover_describe(const struct mover_run *r, const struct names *names,
			       const struct heldlocks *locks)
{
	struct finding *f = finding_new();
	struct str pattern = STR_INIT;
	uint64_t from = r->n > MOVER_FIRST + MOVER_LAST ? r->n - MOVER_LAST : MOVER_FIRST;
	const struct mover_op *last =
		r->n > MOVER_FIRST ? &r->last[(r->n - 1) % MOVER_LAST] : &r->first[r->n - 1];

	f->steps = arena_alloc(&f->arena, (MOVER_FIRST + MOVER_LAST + 1) * sizeof *f->steps);
	for (uint64_t i = 0; i < r->n && i < MOVER_FIRST; i++)
		add_mover_step(f, &pattern, &r->first[i], names, locks);
	if (r->turn_at >= MOVER_FIRST && r->turn_at < from)
		add_mover_step(f, &pattern, &r->turn, names, locks);
	for (uint64_t i = from; i < r->n; i++)
		add_mover_step(f, &pattern, &r->last[i % MOVER_LAST], names, locks);
	f->status = FINDING_PREDICTED;
	f->kind = "movers";
	f->event = last->at.event;
	f->transaction = describe_block(&f->steps[f->nsteps - 1]);
	if (op_is_access(last->at.op))
		describe_variable(f, names, last->at.operand);
	f->pattern = arena_strndup(&f->arena, pattern.s, pattern.n);
	str_free(&pattern);
	finding_seal(f);
	return f;
}
