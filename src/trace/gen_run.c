#include <assert.h>

#include "trace/gen_impl.h"

#include "base/banned.h"

static inline void put_event(struct gen *g, uint32_t thread, uint8_t op, uint32_t operand,
			     strref place)
{
	g->ev[g->n++] =
		(struct event){.thread = thread, .operand = operand, .place = place, .op = op};
}

/* Takes the thread whose turn it is off the run queue. */
static void leave_run_queue(struct gen *g)
{
	g->run[g->turn] = g->run[--g->nrun];
	g->turn_left = 0;
}

static void revive_idle(struct gen *g)
{
	g->run[g->nrun++] = g->idle[--g->nidle];
}

/* Returns false if the lock is held: then the thread is queued. */
static bool acquire_lock(struct gen *g, uint32_t id, struct lock *l)
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
	leave_run_queue(g);
	return false;
}

/*
 * The first thread in the queue runs again and retries. Another thread may get the
 * lock first; its release wakes the next one in the queue.
 */
static void release_lock(struct gen *g, struct lock *l)
{
	l->held = 0;
	if (l->first) {
		g->run[g->nrun++] = l->first - 1;
		l->first = g->thread[l->first - 1].next;
	}
}

/* Returns a variable guarded by a lock that the thread holds; if there is none, its own first. */
static uint32_t pick_guarded_var(struct gen *g, uint32_t id)
{
	const struct thread *t = &g->thread[id];
	uint64_t r = gen_random(g);
	uint32_t l = t->lock[((r & 0xffff) * t->acquired) >> 16];
	uint32_t n = g->vars_a_lock + (l < g->vars_over);

	return n ? l + g->locks * gen_below(r, n) : g->first_own + id * OWN;
}

static uint32_t pick_any_var(struct gen *g, uint32_t id, const struct instr *s)
{
	return s->first + id * s->stride + gen_below(gen_random(g), s->n);
}

/* Draws n different locks, in ascending order. */
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

	/* Draw the variable first: a lock may guard none. */
	g->target_var = gen_below(gen_random(g), g->vars);
	g->target_lock = g->target_var % g->locks;
	g->victim = id;
	g->gate = GATE_VICTIM;
	g->to_plant--;
	gen_next_stratum(g);
	t->lock[0] = g->target_lock;
	t->var = g->target_var;
	t->pc = g->planted[0].instr;
}

static void plan_intruder(struct gen *g, uint32_t id)
{
	struct thread *t = &g->thread[id];

	g->gate = GATE_INTRUDER;
	t->lock[0] = g->target_lock;
	t->var = g->target_var;
	t->pc = g->planted[1].instr;
}

/*
 * The thread has finished its script: gives it the next one, or makes it idle. Adds at most one
 * event, of the open transaction.
 */
static void plan_next(struct gen *g, uint32_t id)
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
		leave_run_queue(g);
		g->idle[g->nidle++] = id;
		return;
	}
	g->left -= s->events;
	pick_locks(g, r, t->lock, s->locks);
	t->repeat = s->repeat;
	t->pc = s->instr;
	if (g->shape->open && g->left && !((r >> 4) % OPEN_EVERY)) {
		const struct instr *o = &g->open[r >> 63];

		g->left--;
		put_event(g, 1, o->op, gen_var(g, pick_any_var(g, 1, o)), o->place);
	}
}

/* Runs one instruction of one thread: adds at most one event. */
static inline void run_instr(struct gen *g)
{
	struct thread *t;
	const struct instr *s;
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

	switch ((enum instr_kind)s->kind) {
	case INSTR_STOP:
		plan_next(g, id);
		return;
	case INSTR_MARK:
		operand = s->label;
		break;
	case INSTR_ANY:
		operand = gen_var(g, pick_any_var(g, id, s));
		break;
	case INSTR_GUARDED:
		t->var = pick_guarded_var(g, id);
		operand = gen_var(g, t->var);
		break;
	case INSTR_SAME:
		operand = gen_var(g, t->var);
		break;
	case INSTR_ACQUIRE:
		if (!acquire_lock(g, id, &g->lock[l]))
			return;
		t->acquired = s->lock + 1u;
		operand = gen_lock(g, l);
		break;
	case INSTR_RELEASE:
		release_lock(g, &g->lock[l]);
		operand = gen_lock(g, l);
		break;
	case INSTR_LET_IN:
		t->pc++;
		g->gate = GATE_OPEN;
		leave_run_queue(g);
		if (g->nidle)
			revive_idle(g);
		return;
	case INSTR_WAKE:
		t->pc++;
		g->run[g->nrun++] = g->victim;
		return;
	case INSTR_OVER:
		t->pc++;
		g->gate = GATE_IDLE;
		return;
	case INSTR_REPEAT:
		if (--t->repeat)
			t->pc -= s->back;
		else
			t->pc++;
		return;
	}
	t->pc++;
	put_event(g, id, s->op, operand, s->place);
}

int gen_next(struct gen *g, struct event *ev)
{
	g->ev = ev;
	g->n = 0;
	while (g->n < GEN_BATCH) {
		if (g->fixed_at < g->fixed_n) {
			g->ev[g->n++] = g->fixed[g->fixed_at++];
		} else if (g->nrun) {
			run_instr(g);
		} else if (g->finishing) {
			break;
		} else if (g->to_plant) {
			g->plant_at = 0; /* now: there is room for nothing else */
			revive_idle(g);
		} else {
			gen_finish(g);
		}
	}
	g->before += (uint64_t)g->n;
	return g->n;
}
