/* All orders of a few threads, depth first: the last resort of schedule.c. */
#include "engine/predict/schedule.h"

#include "base/mem.h"

#include "base/banned.h"

/* A step: `thread` was at `from`; and the thread to be tried next from there. */
struct frame {
	uint32_t thread;
	uint32_t choice;
	uint64_t from;
};

struct search {
	struct scheduler *s;
	const struct schedule_goal *goal;
	uint32_t *thread; /* the threads that may have to run */
	uint32_t n;
	struct frame *frame;
	size_t depth, cap;
	struct map seen; /* hashes of the positions of all threads */
	uint64_t hash;
	uint64_t states;
};

/* Collect the two threads, and all that these may ever need. */
static void find_threads(struct search *x)
{
	const struct model *m = x->s->model;
	bool *in = mem_zalloc(m->nthreads * sizeof *in);

	x->thread = mem_alloc(m->nthreads * sizeof *x->thread);
	x->thread[x->n++] = x->goal->thread;
	x->thread[x->n++] = x->goal->other;
	in[x->goal->thread] = in[x->goal->other] = true;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct model_thread *t = &m->thread[x->thread[i]];

		for (size_t k = 0; k < t->nneeds; k++) {
			struct model_need one;

			for (size_t j = 0; model_need_at(m, &t->need[k], j, &one); j++) {
				if (in[one.thread])
					continue;
				in[one.thread] = true;
				x->thread[x->n++] = one.thread;
			}
		}
	}
	mem_free(in);
}

static uint64_t hash_of(uint32_t thread, uint64_t position)
{
	return map_mix((uint64_t)thread << 48 ^ position) * 0x9e3779b97f4a7c15ull;
}

static void stop_at(uint64_t *to, uint64_t from, uint64_t at)
{
	if (at > from && at < *to)
		*to = at;
}

/* Returns the end of a thread's next step: an operation on a lock, or all events before it. */
static uint64_t step_end(const struct search *x, uint32_t thread)
{
	const struct model_thread *t = &x->s->model->thread[thread];
	const struct schedule_goal *goal = x->goal;
	uint64_t from = t->position, to = t->n;

	if (t->next_op < t->nops) {
		/* Stop before it too: other threads may wait for the events before it. */
		stop_at(&to, from, t->op[t->next_op].at);
		stop_at(&to, from, t->op[t->next_op].at + 1);
	}
	for (size_t i = t->next_need; i < t->nneeds && t->need[i].at < to; i++)
		stop_at(&to, from, t->need[i].at);
	if (thread == goal->thread) {
		stop_at(&to, from, goal->e1 + 1);
		stop_at(&to, from, goal->e2);
		stop_at(&to, from, goal->e2 + 1);
	} else if (thread == goal->other) {
		stop_at(&to, from, goal->f);
		stop_at(&to, from, goal->f + 1);
		stop_at(&to, from, goal->f2 + 1);
	}
	return to;
}

/* Does the next step keep e1 before f and f2 before e2? */
static bool in_order(const struct search *x, uint32_t thread)
{
	const struct model *m = x->s->model;
	const struct schedule_goal *goal = x->goal;
	uint64_t e = m->thread[goal->thread].position, f = m->thread[goal->other].position;

	if (thread == goal->thread && e == goal->e2)
		return f > goal->f2;
	if (thread == goal->other && f == goal->f)
		return e > goal->e1;
	return true;
}

/* Take a step, if it leads to new positions. */
static bool take_step(struct search *x, uint32_t thread)
{
	struct model *m = x->s->model;
	uint64_t from = m->thread[thread].position, to = step_end(x, thread), hash;

	if (to == from || !in_order(x, thread))
		return false;
	model_go(m, thread, to);
	to = m->thread[thread].position;
	if (to == from)
		return false;
	hash = x->hash - hash_of(thread, from) + hash_of(thread, to);
	if (map_get(&x->seen, hash) != MAP_NONE) {
		model_back(m, thread, from);
		return false;
	}
	map_set(&x->seen, hash, 0);
	x->hash = hash;
	x->states++;
	MEM_GROW(x->frame, x->cap, x->depth + 1);
	x->frame[x->depth++] = (struct frame){thread, 0, from};
	return true;
}

/* Undo the last step. */
static void step_back(struct search *x)
{
	struct model *m = x->s->model;
	const struct frame *f = &x->frame[--x->depth];

	x->hash -= hash_of(f->thread, m->thread[f->thread].position);
	x->hash += hash_of(f->thread, f->from);
	model_back(m, f->thread, f->from);
}

static bool search(struct search *x)
{
	const struct model_thread *first = &x->s->model->thread[x->goal->thread];
	uint32_t root = 0;

	while (first->position <= x->goal->e2) {
		uint32_t *choice = x->depth ? &x->frame[x->depth - 1].choice : &root;
		/* Try the thread that ran last first, for few switches. */
		uint32_t last = x->depth ? x->frame[x->depth - 1].thread : x->goal->thread;

		if (x->states >= SCHEDULE_SEARCH ||
		    x->s->searched + x->states >= SCHEDULE_SEARCH_ALL)
			return false;
		if (*choice > x->n) {
			if (!x->depth)
				return false;
			step_back(x);
			continue;
		}
		/* Choice 0 is that thread; then all follow, it among them once more. */
		if (!(*choice)++)
			take_step(x, last);
		else
			take_step(x, x->thread[*choice - 2]);
	}
	return true;
}

bool schedule_search(struct scheduler *s, const struct schedule_goal *goal)
{
	struct search x = {.s = s, .goal = goal};
	bool found;

	model_reset(s->model);
	find_threads(&x);
	found = search(&x);
	s->searches++;
	s->searched += x.states;
	mem_free(x.thread);
	mem_free(x.frame);
	map_free(&x.seen);
	return found;
}
