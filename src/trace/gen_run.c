#include <assert.h>

#include "trace/gen_impl.h"

#include "base/banned.h"

static inline void put(struct gen *g, uint32_t thread, uint8_t op, uint32_t operand, strref place)
{
	g->ev[g->n++] =
		(struct event){.thread = thread, .operand = operand, .place = place, .op = op};
}

/* The thread whose turn it is takes no more turns for now. */
static void leave(struct gen *g)
{
	g->run[g->turn] = g->run[--g->nrun];
	g->turn_left = 0;
}

static void revive(struct gen *g)
{
	g->run[g->nrun++] = g->idle[--g->nidle];
}

static bool acquire(struct gen *g, uint32_t id, struct lock *l)
{
	if (!l->held) {
		l->held = id + 1;
		return true;
	}
	g->thread[id].next = 0;
	if (l->first)
		g->thread[l->last - 1].next = id + 1;
	else
		l->first = id + 1;
	l->last = id + 1;
	leave(g);
	return false;
}

/*
 * The first in the queue takes part again and tries again: whoever is quicker
 * gets the lock, and wakes the next.
 */
static void release(struct gen *g, struct lock *l)
{
	l->held = 0;
	if (l->first) {
		g->run[g->nrun++] = l->first - 1;
		l->first = g->thread[l->first - 1].next;
	}
}

/* Some variable that a lock which the thread holds guards; if there is none, an own one. */
static uint32_t guarded(struct gen *g, uint32_t id)
{
	const struct thread *t = &g->thread[id];
	uint64_t r = gen_random(g);
	uint32_t l = t->lock[((r & 0xffff) * t->acquired) >> 16];
	uint32_t n = g->vars_a_lock + (l < g->vars_over);

	return n ? l + g->locks * gen_below(r, n) : g->first_own + id * OWN;
}

static uint32_t any(struct gen *g, uint32_t id, const struct step *s)
{
	return s->first + id * s->stride + gen_below(gen_random(g), s->n);
}

/* n different locks in ascending order. */
static void pick_locks(struct gen *g, uint64_t r, uint32_t *lock, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t l = gen_below(i ? gen_random(g) : r, g->locks - n + 1), at = i;

		for (; at && lock[at - 1] > l; at--)
			lock[at] = lock[at - 1];
		lock[at] = l;
	}
	for (uint32_t i = 1; i < n; i++)
		lock[i] += i;
}

static void plan_victim(struct gen *g, uint32_t id)
{
	struct thread *t = &g->thread[id];

	/* The variable first: a lock may guard none. */
	g->cut_var = gen_below(gen_random(g), g->vars);
	g->cut_lock = g->cut_var % g->locks;
	g->victim = id;
	g->gate = GATE_VICTIM;
	g->to_plant--;
	gen_next_stratum(g);
	t->lock[0] = g->cut_lock;
	t->var = g->cut_var;
	t->pc = g->planted[0].step;
}

static void plan_intruder(struct gen *g, uint32_t id)
{
	struct thread *t = &g->thread[id];

	g->gate = GATE_INTRUDER;
	t->lock[0] = g->cut_lock;
	t->var = g->cut_var;
	t->pc = g->planted[1].step;
}

/* A thread is through with its script: give it the next, or let it be. One event at most. */
static void plan(struct gen *g, uint32_t id)
{
	struct thread *t = &g->thread[id];
	const struct script *s;
	uint64_t r;

	t->acquired = 0;
	if (g->gate == GATE_OPEN) {
		plan_intruder(g, id);
		return;
	}
	if (g->gate == GATE_IDLE && g->to_plant && g->before + (uint64_t)g->n >= g->plant_at) {
		plan_victim(g, id);
		return;
	}
	r = gen_random(g);
	s = &g->script[g->pick[r & 15]];
	if (s->events > g->left) {
		leave(g);
		g->idle[g->nidle++] = id;
		return;
	}
	g->left -= s->events;
	pick_locks(g, r, t->lock, s->locks);
	t->repeat = s->repeat;
	t->pc = s->step;
	if (g->shape->open && g->left && !((r >> 4) % OPEN_EVERY)) {
		const struct step *o = &g->open[r >> 63];

		g->left--;
		put(g, 1, o->op, gen_var(g, any(g, 1, o)), o->place);
	}
}

/* One letter of one thread: one event at most. */
static inline void step(struct gen *g)
{
	struct thread *t;
	const struct step *s;
	uint32_t id, operand = 0, l;

	if (!g->turn_left) {
		uint64_t r = gen_random(g);

		g->turn = gen_below(r, g->nrun);
		g->turn_left = 1 + (r & 3);
	}
	g->turn_left--;
	id = g->run[g->turn];
	t = &g->thread[id];
	s = t->pc;
	l = t->lock[s->lock];

	switch ((enum what)s->what) {
	case STEP_STOP:
		plan(g, id);
		return;
	case STEP_MARK:
		operand = s->label;
		break;
	case STEP_ANY:
		operand = gen_var(g, any(g, id, s));
		break;
	case STEP_GUARDED:
		t->var = guarded(g, id);
		operand = gen_var(g, t->var);
		break;
	case STEP_SAME:
		operand = gen_var(g, t->var);
		break;
	case STEP_ACQUIRE:
		if (!acquire(g, id, &g->lock[l]))
			return;
		t->acquired = s->lock + 1u;
		operand = gen_lock(g, l);
		break;
	case STEP_RELEASE:
		release(g, &g->lock[l]);
		operand = gen_lock(g, l);
		break;
	case STEP_LET_IN:
		t->pc++;
		g->gate = GATE_OPEN;
		leave(g);
		if (g->nidle)
			revive(g);
		return;
	case STEP_WAKE:
		t->pc++;
		g->run[g->nrun++] = g->victim;
		return;
	case STEP_OVER:
		t->pc++;
		g->gate = GATE_IDLE;
		return;
	case STEP_REPEAT:
		if (--t->repeat)
			t->pc -= s->back;
		else
			t->pc++;
		return;
	}
	t->pc++;
	put(g, id, s->op, operand, s->place);
}

int gen_next(struct gen *g, struct event *ev)
{
	g->ev = ev;
	g->n = 0;
	while (g->n < GEN_BATCH) {
		if (g->fixed_at < g->fixed_n) {
			g->ev[g->n++] = g->fixed[g->fixed_at++];
		} else if (g->nrun) {
			step(g);
		} else if (g->finishing) {
			break;
		} else if (g->to_plant) {
			g->plant_at = 0; /* no room for anything else any more */
			revive(g);
		} else {
			gen_finish(g);
		}
	}
	g->before += (uint64_t)g->n;
	return g->n;
}
