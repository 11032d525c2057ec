/* All orders in which reads see their writes, depth first: the last resort of feasible.c. */
#include "engine/predict/feasible.h"

#include "base/mem.h"

#include "base/banned.h"

/* A step: `thread` was at `from`, and perhaps overwrote a variable; and the thread to try next. */
struct frame {
	uint32_t thread, choice, var;
	uint64_t from;
	uint64_t off; /* values.off before it */
	struct value old;
	bool wrote;
};

struct search {
	struct feasible *s;
	struct frame *frame;
	size_t depth, cap;
	struct map seen; /* hashes of the positions of all threads and of all values */
	uint64_t hash, states;
};

static uint64_t hash_position(uint32_t thread, uint64_t position)
{
	return map_mix((uint64_t)thread << 48 ^ position) * 0x9e3779b97f4a7c15ull;
}

static uint64_t hash_value(uint32_t var, const struct value *now)
{
	uint64_t write = (uint64_t)now->thread << 32 | now->access;

	return now->access ? map_mix(map_mix(write) + var) : 0;
}

/* Of the position of the first read that is off. */
static uint64_t hash_off(uint64_t off)
{
	return off == VALUES_NONE_OFF ? 0 : hash_position(UINT16_MAX, off);
}

static void stop_at(uint64_t *to, uint64_t from, uint64_t at)
{
	if (at > from && at < *to)
		*to = at;
}

/*
 * Returns the end of a thread's next step: an access, an operation on a lock, or all events before
 * that, for which other threads may wait.
 */
static uint64_t step_end(const struct search *x, uint32_t thread)
{
	const struct schedule_goal *goal = &x->s->values.goal;
	const struct model_thread *t = &x->s->model->thread[thread];
	uint64_t from = t->position, to = t->n;
	size_t i = model_access_at(t, from);

	if (thread == goal->thread && to > goal->e2 + 1)
		to = goal->e2 + 1;
	if (thread == goal->other && x->s->values.f_is_free && to > x->s->values.tail)
		to = x->s->values.tail;
	if (i < t->naccesses) {
		stop_at(&to, from, t->access[i].at);
		stop_at(&to, from, t->access[i].at + 1);
	}
	if (t->next_op < t->nops) {
		stop_at(&to, from, t->op[t->next_op].at);
		stop_at(&to, from, t->op[t->next_op].at + 1);
	}
	for (i = t->next_need; i < t->nneeds && t->need[i].at < to; i++)
		stop_at(&to, from, t->need[i].at);
	return to;
}

/* Does the next event keep e1 before f and f2 before e2? */
static bool is_in_order(const struct search *x, uint32_t thread, uint64_t to)
{
	const struct schedule_goal *goal = &x->s->values.goal;
	uint64_t e = x->s->model->thread[goal->thread].position;
	uint64_t f = x->s->model->thread[goal->other].position;

	if (thread == goal->thread && to > goal->e2)
		return f > goal->f2;
	if (thread == goal->other && f <= goal->f && to > goal->f)
		return e > goal->e1;
	return true;
}

static void undo(struct search *x, const struct frame *f)
{
	model_back(x->s->model, f->thread, f->from);
	x->s->values.off = f->off;
	if (f->wrote)
		x->s->values.now[f->var] = f->old;
}

/* Take a step, if it leads to a new state. */
static void take_step(struct search *x, uint32_t thread)
{
	struct values *v = &x->s->values;
	const struct model_thread *t = &x->s->model->thread[thread];
	struct frame f = {.thread = thread, .from = t->position, .off = v->off};
	uint64_t to = step_end(x, thread), hash = x->hash;
	size_t i = model_access_at(t, f.from);

	if (to == f.from || !is_in_order(x, thread, to))
		return;
	if (i < t->naccesses && t->access[i].at < to && t->access[i].writes) {
		f.wrote = true;
		f.var = t->access[i].var;
		f.old = v->now[f.var];
	}
	values_go(v, thread, to);
	if (t->position == f.from)
		return;
	hash += hash_position(thread, t->position) - hash_position(thread, f.from);
	hash += hash_off(v->off) - hash_off(f.off);
	if (f.wrote && t->position > t->access[i].at) {
		struct value none = {0}, *old = f.old.stamp == v->stamp ? &f.old : &none;

		hash += hash_value(f.var, &v->now[f.var]) - hash_value(f.var, old);
	}
	if (map_get(&x->seen, hash) != MAP_NONE) {
		undo(x, &f);
		return;
	}
	map_set(&x->seen, hash, 0);
	x->hash = hash;
	x->states++;
	MEM_GROW(x->frame, x->cap, x->depth + 1);
	x->frame[x->depth++] = f;
}

/* Undo the last step. */
static void step_back(struct search *x)
{
	const struct values *v = &x->s->values;
	const struct frame *f = &x->frame[--x->depth];
	uint64_t position = x->s->model->thread[f->thread].position;

	if (f->wrote)
		x->hash -= hash_value(f->var, &v->now[f->var]);
	x->hash += hash_off(f->off) - hash_off(v->off);
	undo(x, f);
	x->hash += hash_position(f->thread, f->from) - hash_position(f->thread, position);
	if (f->wrote && f->old.stamp == v->stamp)
		x->hash += hash_value(f->var, &f->old);
}

static bool search(struct search *x)
{
	const struct schedule_goal *goal = &x->s->values.goal;
	const struct model *m = x->s->model;
	uint32_t root = 0;

	while (m->thread[goal->thread].position <= goal->e2) {
		uint32_t *choice = x->depth ? &x->frame[x->depth - 1].choice : &root;
		uint32_t last = x->depth ? x->frame[x->depth - 1].thread : goal->thread;

		if (x->states >= SCHEDULE_SEARCH ||
		    x->s->searched + x->states >= SCHEDULE_SEARCH_ALL)
			return false;
		if (*choice > m->nthreads) {
			if (!x->depth)
				return false;
			step_back(x);
			continue;
		}
		/* Choice 0 is the thread that ran last, for few switches; then all follow. */
		if (!(*choice)++)
			take_step(x, last);
		else
			take_step(x, *choice - 2);
	}
	return true;
}

bool feasible_search(struct feasible *s, bool f_is_free)
{
	struct search x = {.s = s};
	bool found;

	values_reset(&s->values);
	s->values.f_is_free = f_is_free;
	found = search(&x);
	s->searched += x.states;
	mem_free(x.frame);
	map_free(&x.seen);
	return found;
}
