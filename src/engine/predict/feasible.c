#include "engine/predict/feasible.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

void feasible_init(struct feasible *s, struct model *model, bool whole)
{
	size_t operations = 0;

	*s = (struct feasible){.model = model};
	for (size_t i = 0; i < model->nthreads; i++)
		operations += model->thread[i].nops + model->thread[i].naccesses;
	s->is_short = whole && operations <= FEASIBLE_SHORT;
	closure_init(&s->closure, model);
	values_init(&s->values, model);
	s->next_event = mem_alloc(model->nthreads * sizeof *s->next_event);
	s->blocked = mem_zalloc(model->nthreads * sizeof *s->blocked);
	s->target = mem_zalloc(model->nthreads * sizeof *s->target);
	s->early = mem_alloc(model->nthreads * sizeof *s->early);
}

void feasible_free(struct feasible *s)
{
	closure_free(&s->closure);
	values_free(&s->values);
	mem_free(s->next_event);
	mem_free(s->blocked);
	mem_free(s->target);
	mem_free(s->early);
	*s = (struct feasible){0};
}

struct model_schedule feasible_copy(const struct model_schedule *s)
{
	struct model_schedule copy = {.n = s->n, .cap = s->n};

	copy.v = mem_alloc(s->n * sizeof *copy.v);
	memcpy(copy.v, s->v, s->n * sizeof *copy.v);
	return copy;
}

static bool is_exempt(void *values, const struct model_access *a)
{
	return values_is_exempt(values, a);
}

/* Begin a closure in which some reads of f's thread are exempt. */
static void begin_closure(struct feasible *s, enum closure_rule rule)
{
	struct closure_exempt exempt = {.thread = s->values.goal.other, .arg = &s->values};

	if (s->values.alike || s->values.f_is_free) {
		exempt.from = s->values.alike ? s->values.first_other : s->values.goal.f2;
		exempt.is_exempt = is_exempt;
	}
	closure_begin(&s->closure, rule, s->reads, &exempt);
}

/*
 * Close the events before `cut` and before f. Returns false if they include e2 or f, or cannot be
 * closed.
 */
static bool close_first_part(struct feasible *s, enum closure_rule rule, uint64_t cut)
{
	const struct schedule_goal *goal = &s->values.goal;

	begin_closure(s, rule);
	closure_set_limit(&s->closure, 0, goal->thread, goal->e2);
	closure_set_limit(&s->closure, 1, goal->other, goal->f);
	closure_want(&s->closure, goal->thread, cut);
	closure_want_needs(&s->closure, goal->other, goal->f);
	for (size_t i = 0; i < s->nearly; i++)
		closure_want(&s->closure, s->early[i].thread, s->early[i].position);
	for (size_t i = 0; i < s->nrepairs; i++)
		closure_want(&s->closure, s->repair[i].thread, s->repair[i].position);
	return closure_close(&s->closure);
}

/* Find what third threads must do before e2: they had better do it before f. */
static void find_early(struct feasible *s)
{
	const struct schedule_goal *goal = &s->values.goal;
	const struct closure *c = &s->closure;

	s->nearly = 0;
	s->values.f_is_free = true;
	begin_closure(s, CLOSURE_NEEDS);
	closure_want_needs(&s->closure, goal->other, goal->f);
	closure_want_needs(&s->closure, goal->thread, goal->e2);
	closure_close(&s->closure);
	for (size_t i = 0; i < c->ninvolved; i++) {
		uint32_t t = c->involved[i];

		if (t != goal->thread && t != goal->other)
			s->early[s->nearly++] =
				(struct model_need){.thread = t, .position = c->thread[t].position};
	}
}

static bool is_second_short(const struct feasible *s)
{
	const struct closure *c = &s->closure;
	uint64_t events = 0;

	for (size_t i = 0; i < c->ninvolved; i++)
		events += c->thread[c->involved[i]].position - c->thread[c->involved[i]].mark;
	return events <= FEASIBLE_SECOND;
}

/* Close in addition the events up to f2, and before e2. */
static bool close_second_part(struct feasible *s)
{
	const struct schedule_goal *goal = &s->values.goal;

	closure_mark(&s->closure);
	closure_set_limit(&s->closure, 1, goal->other, UINT64_MAX);
	closure_want(&s->closure, goal->other, goal->f2 + 1);
	closure_want_needs(&s->closure, goal->thread, goal->e2);
	return closure_close(&s->closure) && is_second_short(s);
}

bool feasible_can_be(struct feasible *s, const struct feasible_goal *goal)
{
	s->nearly = s->nrepairs = 0;
	s->reads = MODEL_SINGLE_READS;
	s->values.f_is_free = true;
	for (size_t i = 0; i < sizeof goal->alike / sizeof goal->alike[0]; i++) {
		values_set_goal(&s->values, &goal->goal, goal->var, goal->alike[i]);
		if (i && !s->values.alike)
			continue;
		if (close_first_part(s, CLOSURE_NEEDS, goal->goal.e1 + 1))
			return true;
	}
	return false;
}

/* Note which event a thread goes on with. */
static void note_position(struct feasible *s, uint32_t thread)
{
	s->next_event[thread] =
		s->model->thread[thread].position < s->target[thread]
			? model_event(s->model, thread, s->model->thread[thread].position)
			: UINT64_MAX;
}

/* Returns where a thread stops next: another thread comes first in the run, or it may be blocked.
 */
static uint64_t next_stop(struct feasible *s, uint32_t thread, uint64_t others, bool step)
{
	const struct model_thread *t = &s->model->thread[thread];
	uint64_t to = s->target[thread], from = t->position;
	size_t i;

	if (!step) {
		uint64_t turn =
			others == UINT64_MAX ? to : model_first_from(s->model, thread, others);

		return turn < to ? turn : to;
	}
	i = model_access_at(t, from);
	if (i < t->naccesses && t->access[i].at + 1 < to)
		to = t->access[i].at + 1;
	if (t->next_op < t->nops && t->op[t->next_op].at + 1 < to)
		to = t->op[t->next_op].at + 1;
	return to;
}

/*
 * Returns the thread whose next event comes first in the run, of those that are not blocked;
 * MODEL_NONE: none is left. Sets *others to the next event of the others.
 */
static uint32_t find_first(struct feasible *s, uint64_t *others)
{
	const struct closure *c = &s->closure;
	uint32_t first = MODEL_NONE;

	*others = UINT64_MAX;
	for (size_t i = 0; i < c->ninvolved; i++) {
		uint32_t t = c->involved[i];

		if (s->blocked[t] || s->next_event[t] == UINT64_MAX)
			continue;
		if (first == MODEL_NONE || s->next_event[t] < s->next_event[first]) {
			if (first != MODEL_NONE)
				*others = s->next_event[first];
			first = t;
		} else if (s->next_event[t] < *others) {
			*others = s->next_event[t];
		}
	}
	s->model->steps += c->ninvolved;
	return first;
}

/*
 * Run all threads of the closure to their targets, in the order of the run. A thread that cannot go
 * on lets others go first. Returns false if none can go on.
 */
static bool run_in_order(struct feasible *s)
{
	const struct closure *c = &s->closure;
	uint64_t steps = s->model->steps;
	bool some_blocked = false;

	for (size_t i = 0; i < c->ninvolved; i++) {
		note_position(s, c->involved[i]);
		s->blocked[c->involved[i]] = false;
	}
	for (;;) {
		uint64_t others, from;
		uint32_t first = find_first(s, &others);

		if (first == MODEL_NONE)
			return !some_blocked;
		if (s->model->steps - steps > FEASIBLE_SECOND)
			return false;
		from = s->model->thread[first].position;
		values_go(&s->values, first, next_stop(s, first, others, some_blocked));
		if (s->model->thread[first].position > from) {
			note_position(s, first);
			if (some_blocked)
				for (size_t i = 0; i < c->ninvolved; i++)
					s->blocked[c->involved[i]] = false;
			some_blocked = false;
		} else {
			s->blocked[first] = some_blocked = true;
		}
	}
}

bool feasible_is(struct feasible *s, const struct feasible_goal *goal,
		 const struct model_schedule *schedule)
{
	for (size_t i = 0; i < sizeof goal->alike / sizeof goal->alike[0]; i++) {
		values_set_goal(&s->values, &goal->goal, goal->var, goal->alike[i]);
		if (i && !s->values.alike)
			continue;
		if (values_execute(&s->values, schedule))
			return true;
	}
	return false;
}

/*
 * Is there a read of e1's thread, after the cut, that has to see a write of the first part, or the
 * initial value, which is overwritten by then? That is the usual reason why a cut fails.
 */
static bool is_read_spoilt(struct feasible *s)
{
	const struct schedule_goal *goal = &s->values.goal;
	const struct closure *c = &s->closure;
	const struct model_thread *t = &s->model->thread[goal->thread];
	const struct model_thread *u = &s->model->thread[goal->other];
	const struct model_access *f = &u->access[model_access_at(u, goal->f)];

	for (size_t i = model_access_at(t, t->position); i < t->naccesses; i++) {
		const struct model_access *a = &t->access[i];

		s->model->steps++;
		if (a->at >= goal->e2)
			break;
		if (!a->reads || model_has_other_write(s->model, a) ||
		    (a->from != MODEL_NONE && s->model->thread[a->from_thread].access[a->from].at >=
						      c->thread[a->from_thread].mark))
			continue;
		if ((f->writes && f->var == a->var) || !values_sees_same(&s->values, a))
			return true;
	}
	return false;
}

/* Execute what comes after the first part: f, the second part, e2. */
static bool run_second_part(struct feasible *s)
{
	const struct schedule_goal *goal = &s->values.goal;
	const struct closure *c = &s->closure;

	values_jump(&s->values, c);
	s->njumps = s->model->done.n;
	if (is_read_spoilt(s) || !values_go(&s->values, goal->other, goal->f + 1))
		return false;
	for (size_t i = 0; i < c->ninvolved; i++) {
		s->target[c->involved[i]] = c->thread[c->involved[i]].position;
		values_expect_reads(&s->values, c->involved[i],
				    s->model->thread[c->involved[i]].position,
				    s->target[c->involved[i]]);
	}
	values_go(&s->values, goal->other, goal->f2 + 1);
	return run_in_order(s) && values_go(&s->values, goal->thread, goal->e2 + 1);
}

static void add_part(struct model_schedule *s, uint32_t thread, uint64_t from, uint64_t to)
{
	if (from == to)
		return;
	MEM_GROW(s->v, s->cap, s->n + 1);
	s->v[s->n++] = (struct model_part){thread, from, to};
}

/* Add the events before the marks, in the order of the run. */
static void add_first_part(struct feasible *s, struct model_schedule *to)
{
	const struct closure *c = &s->closure;
	const struct model *m = s->model;

	for (size_t i = 0; i < m->nturns; i++) {
		uint32_t thread = m->turn[i].thread, run = m->turn[i].run;
		const struct model_thread *t = &m->thread[thread];
		uint64_t mark = c->thread[thread].mark, end;

		if (t->run[run].event > s->values.base_last)
			break;
		if (c->thread[thread].stamp != c->stamp || t->run[run].at >= mark)
			continue;
		end = run + 1 < t->nruns ? t->run[run + 1].at : t->n;
		add_part(to, thread, t->run[run].at, end < mark ? end : mark);
	}
}

/* Execute the whole schedule from the start: the first part, and what was done after it. */
static bool verify_parts(struct feasible *s)
{
	const struct model_schedule *done = &s->model->done;
	struct model_schedule made = {0};
	bool ok;

	/* The last jump and the first event after it may be one part of `done`. */
	size_t first = s->njumps ? s->njumps - 1 : 0;

	add_first_part(s, &made);
	for (size_t i = first; i < done->n; i++) {
		const struct model_part *p = &done->v[i];
		uint64_t mark = s->njumps && i == first ? s->closure.thread[p->thread].mark : 0;

		add_part(&made, p->thread, p->from < mark ? mark : p->from, p->to);
	}
	ok = values_execute(&s->values, &made);
	mem_free(made.v);
	return ok;
}

/* Execute the schedule that was just made once more, from the start. */
static bool verify(struct feasible *s)
{
	struct model_schedule made = feasible_copy(&s->model->done);
	bool ok = values_execute(&s->values, &made);

	mem_free(made.v);
	return ok;
}

/*
 * Try a cut: with f free to see any write, then with f as in the run. Returns false if it failed;
 * sets *too_late if later cuts fail as well, else *same to the last cut that is no different.
 */
static bool try_cut(struct feasible *s, uint64_t cut, bool *too_late, uint64_t *same)
{
	const struct schedule_goal *goal = &s->values.goal;

	/* With reads changed on purpose, f's thread must be free. */
	for (int is_free = 1; is_free >= s->values.alike; is_free--) {
		s->values.f_is_free = is_free;
		*too_late = !close_first_part(s, CLOSURE_LOCKS, cut);
		if (*too_late)
			return false;
		*same = closure_position(&s->closure, goal->thread);
		if (!close_second_part(s))
			return false;
		/* If f's thread does more than leave sections, it must read what it read. */
		if (is_free && closure_position(&s->closure, goal->other) > s->values.tail)
			continue;
		if (run_second_part(s) && verify_parts(s))
			return true;
		/* Only if a read was off can it be another matter without. */
		if (s->values.off == VALUES_NONE_OFF)
			return false;
	}
	return false;
}

static int by_position(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Fill in the points between e1 and e2 to be tried, in order. Returns how many they are. */
static size_t find_cuts(const struct feasible *s, uint64_t cut[FEASIBLE_CUTS])
{
	const struct schedule_goal *goal = &s->values.goal;
	const struct model_thread *t = &s->model->thread[goal->thread];
	size_t n = 0;

	cut[n++] = goal->e1 + 1;
	cut[n++] = goal->cut + 1;
	cut[n++] = goal->e2;
	for (size_t i = model_ops_before(t, goal->e2); i-- > 0 && n < FEASIBLE_CUTS;) {
		if (t->op[i].at <= goal->e1)
			break;
		if (!t->op[i].acquire)
			cut[n++] = t->op[i].at + 1;
	}
	qsort(cut, n, sizeof *cut, by_position);
	return n;
}

static bool try_cuts(struct feasible *s)
{
	uint64_t cut[FEASIBLE_CUTS], same = 0;
	size_t n = find_cuts(s, cut), i;
	bool too_late = false;

	s->nearly = 0;
	if (try_cut(s, s->values.goal.e2, &too_late, &same))
		return true;
	find_early(s);
	same = 0;
	too_late = false;
	for (i = 0; i < n && !too_late; i++)
		if (cut[i] > same && try_cut(s, cut[i], &too_late, &same))
			return true;
	/* Did the third threads prevent the very first cut? */
	if (!too_late || i > 1 || !s->nearly)
		return false;
	s->nearly = 0;
	too_late = false;
	for (i = 0; i < n && !too_late; i++)
		if (cut[i] > same && try_cut(s, cut[i], &too_late, &same))
			return true;
	return false;
}

/* Add the write that the last wrong read saw in the run. Returns false if that cannot help. */
static bool add_repair(struct feasible *s)
{
	const struct model_access *read = s->values.wrong;
	struct model_need need;

	if (!read || read->from == MODEL_NONE || s->nrepairs == FEASIBLE_REPAIRS)
		return false;
	need.thread = read->from_thread;
	need.position = s->model->thread[read->from_thread].access[read->from].at + 1;
	if (closure_position(&s->closure, need.thread) >= need.position)
		return false;
	s->repair[s->nrepairs++] = need;
	return true;
}

/* Try the cuts, first with the writes that reads saw, then with others of the same value. */
static bool try_cuts_by_value(struct feasible *s)
{
	s->nrepairs = 0;
	s->reads = MODEL_ALL_READS;
	if (try_cuts(s))
		return true;
	if (!s->model->has_common)
		return false;
	s->reads = MODEL_SINGLE_READS;
	do
		if (try_cuts(s))
			return true;
	while (add_repair(s));
	return false;
}

bool feasible_make(struct feasible *s, const struct feasible_goal *goal)
{
	for (size_t i = 0; i < sizeof goal->alike / sizeof goal->alike[0]; i++) {
		values_set_goal(&s->values, &goal->goal, goal->var, goal->alike[i]);
		if (i && !s->values.alike)
			continue;
		if (try_cuts_by_value(s))
			return true;
		for (int is_free = 1; s->is_short && is_free >= s->values.alike; is_free--)
			if (feasible_search(s, is_free) && verify(s))
				return true;
	}
	return false;
}
