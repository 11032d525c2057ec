#include "engine/predict/values.h"

#include "base/mem.h"

#include "base/banned.h"

void values_init(struct values *v, struct model *model)
{
	*v = (struct values){.model = model, .nvars = model->nwatched};
	v->now = mem_zalloc(v->nvars * sizeof *v->now);
	v->next = mem_zalloc(model->nthreads * sizeof *v->next);
}

void values_free(struct values *v)
{
	mem_free(v->now);
	mem_free(v->next);
	mem_free(v->changed);
	map_free(&v->waiting);
	*v = (struct values){0};
}

void values_reset(struct values *v)
{
	model_reset(v->model);
	v->base = NULL;
	v->stamp++;
	v->nchanged = 0;
	v->off = VALUES_NONE_OFF;
	v->wrong = NULL;
	v->has_waiting = false;
	map_free(&v->waiting);
	v->waiting = (struct map){0};
}

void values_jump(struct values *v, const struct closure *base)
{
	values_reset(v);
	v->base = base;
	v->base_last = 0;
	for (size_t i = 0; i < base->ninvolved; i++) {
		uint32_t thread = base->involved[i];
		uint64_t mark = base->thread[thread].mark, last;

		if (!mark)
			continue;
		last = model_event(v->model, thread, mark - 1);
		if (last > v->base_last)
			v->base_last = last;
		model_jump(v->model, thread, mark);
	}
}

/* Find the last write among the events before the marks of the base. */
static void find_base_value(struct values *v, uint32_t var, struct value *now)
{
	const struct model_writes *writes = &v->model->writes[var];
	size_t low = 0, high = writes->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (writes->v[mid].event <= v->base_last)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low; low--) {
		const struct model_write *w = &writes->v[low - 1];
		const struct closure_thread *t = &v->base->thread[w->thread];

		v->model->steps++;
		if (t->stamp == v->base->stamp &&
		    v->model->thread[w->thread].access[w->access].at < t->mark) {
			now->thread = w->thread;
			now->access = w->access + 1;
			return;
		}
	}
}

static struct value *value_of(struct values *v, uint32_t var)
{
	struct value *now = &v->now[var];

	if (now->stamp != v->stamp) {
		*now = (struct value){.stamp = v->stamp};
		if (v->base)
			find_base_value(v, var, now);
	}
	return now;
}

/* Does a read see the write `now`, if it sees what it saw in the run? */
static bool is_same_write(const struct model_access *read, const struct value *now)
{
	if (read->from == MODEL_NONE || !now->access)
		return read->from == MODEL_NONE && !now->access;
	return read->from_thread == now->thread && read->from == now->access - 1;
}

/* Is the current write one that f's thread made after a read that is off? */
static bool is_write_off(const struct values *v, const struct value *now)
{
	return v->off != VALUES_NONE_OFF && now->access && now->thread == v->goal.other &&
	       v->model->thread[now->thread].access[now->access - 1].at >= v->off;
}

/* Returns the value of a variable after a write; `now` is that write, or none. */
static uint8_t written_value(const struct values *v, uint32_t var, const struct value *now)
{
	return now->access ? (uint8_t)v->model->thread[now->thread].access[now->access - 1].value
			   : v->model->writes[var].initial;
}

/* Does a read see the same as in the run, if it sees this write? */
static bool is_same_value(const struct values *v, const struct model_access *read,
			  const struct value *now)
{
	uint8_t seen;

	if (is_same_write(read, now))
		return true;
	seen = model_seen(v->model, read);
	return seen != VALUE_UNKNOWN && seen == written_value(v, read->var, now) &&
	       !is_write_off(v, now);
}

static bool is_read_of(const struct values *v, const struct model_access *a)
{
	return a->var == v->var && a->reads && !a->writes;
}

/* Find g. Returns false if there is none. */
static bool find_like_f(struct values *v, strref first_place, bool in_region)
{
	const struct model_thread *t = &v->model->thread[v->goal.thread];
	const struct model_thread *u = &v->model->thread[v->goal.other];
	const struct model_access *f = &u->access[model_access_at(u, v->goal.f)];
	const struct model_block *block = in_region ? NULL : model_block_at(t, v->goal.e1);
	size_t first = model_access_at(t, v->goal.e1 + 1);

	for (size_t i = first; i < t->naccesses && i < first + VALUES_ALIKE; i++) {
		const struct model_access *a = &t->access[i];

		v->model->steps++;
		if (a->var != v->var)
			continue;
		/* The block ends; or, without one, the code begins again. */
		if (block ? a->at > block->end
			  : a->at > v->goal.e2 && is_read_of(v, a) && a->place == first_place)
			return false;
		if (a->place != f->place || a->reads != f->reads || a->writes != f->writes)
			continue;
		v->g = a->at;
		v->begin = block ? block->begin : v->goal.e1;
		v->end = block ? block->end : a->at > v->goal.e2 ? a->at : v->goal.e2;
		return true;
	}
	return false;
}

/* Find r0. Returns false if there is none. */
static bool find_like_first(struct values *v, strref first_place, bool in_region)
{
	const struct model_thread *t = &v->model->thread[v->goal.other];
	const struct model_block *block = in_region ? NULL : model_block_at(t, v->goal.f);
	size_t f = model_access_at(t, v->goal.f);

	for (size_t i = f; i > 0 && f - i < VALUES_ALIKE; i--) {
		const struct model_access *a = &t->access[i - 1];

		v->model->steps++;
		if (block && a->at < block->begin)
			return false;
		if (!is_read_of(v, a) || a->place != first_place)
			continue;
		v->first_alike = a->at;
		v->first_other = block ? block->begin : a->at;
		return true;
	}
	return false;
}

/* Returns the position after the last release of the locks that a thread holds at a position. */
static uint64_t end_of_sections(const struct model_thread *t, uint64_t position)
{
	size_t nops = model_ops_before(t, position);
	uint64_t end = position;
	uint32_t op = MODEL_NONE;

	while ((op = model_next_held(t, nops, op)) != MODEL_NONE) {
		if (t->op[op].other == MODEL_NONE)
			return position;
		if (t->op[t->op[op].other].at >= end)
			end = t->op[t->op[op].other].at + 1;
	}
	return end <= model_next_sync(t, position) ? end : position;
}

/*
 * Find the end of the events after f2 that leave the sections of locks, and of those after them
 * that only release locks.
 */
static void find_tail(struct values *v)
{
	const struct model_thread *t = &v->model->thread[v->goal.other];
	uint64_t from = end_of_sections(t, v->goal.f2 + 1), tail = model_next_sync(t, from);
	size_t i = model_access_at(t, from), op = model_ops_before(t, from);

	if (i < t->naccesses && t->access[i].at < tail)
		tail = t->access[i].at;
	while (op < t->nops && !t->op[op].acquire && t->op[op].at < tail)
		op++;
	if (op < t->nops && t->op[op].at < tail)
		tail = t->op[op].at;
	v->tail = tail;
}

static bool holds_lock(const struct model_thread *t, uint64_t position, uint32_t lock)
{
	size_t nops = model_ops_before(t, position);
	uint32_t op = MODEL_NONE;

	while ((op = model_next_held(t, nops, op)) != MODEL_NONE)
		if (t->op[op].lock == lock)
			return true;
	return false;
}

/* Find a lock that is held at e1, e2 and f. Returns false if there is none. */
static bool find_lock(struct values *v)
{
	const struct model_thread *t = &v->model->thread[v->goal.thread];
	const struct model_thread *u = &v->model->thread[v->goal.other];
	size_t nops = model_ops_before(t, v->goal.e1);
	uint32_t op = MODEL_NONE;

	while ((op = model_next_held(t, nops, op)) != MODEL_NONE) {
		v->lock = t->op[op].lock;
		if (holds_lock(t, v->goal.e2, v->lock) && holds_lock(u, v->goal.f, v->lock))
			return true;
	}
	return false;
}

/* Find the reads of f's thread that may change because a lock protects x. */
static bool find_locked(struct values *v)
{
	const struct model_thread *t = &v->model->thread[v->goal.thread];
	const struct model_thread *u = &v->model->thread[v->goal.other];
	const struct model_block *a = model_block_at(t, v->goal.e1);
	const struct model_block *b = model_block_at(u, v->goal.f);
	size_t f = model_access_at(u, v->goal.f), i = f;

	if (!u->access[f].writes || !find_lock(v))
		return false;
	for (; i > 0 && f - i < VALUES_ALIKE; i--, v->model->steps++)
		if ((b && u->access[i - 1].at < b->begin) ||
		    (u->access[i - 1].var == v->var && u->access[i - 1].writes))
			break;
	v->first_alike = v->first_other = u->access[i].at;
	v->end = a && a->end > v->goal.e2 ? a->end : v->goal.e2;
	return true;
}

void values_set_goal(struct values *v, const struct schedule_goal *goal, uint32_t var,
		     enum values_alike alike)
{
	const struct model_thread *t = &v->model->thread[goal->thread];
	const struct model_access *e1;

	v->goal = *goal;
	v->var = var;
	v->alike = false;
	find_tail(v);
	if (alike == VALUES_EXACT)
		return;
	e1 = &t->access[model_access_at(t, goal->e1)];
	v->locked = alike == VALUES_LOCKED;
	if (v->locked) {
		v->alike = is_read_of(v, e1) && find_locked(v);
		return;
	}
	v->alike = is_read_of(v, e1) && find_like_f(v, e1->place, alike == VALUES_IN_REGIONS) &&
		   find_like_first(v, e1->place, alike == VALUES_IN_REGIONS);
}

/* Is this access of f's thread one that may be changed on purpose? */
static bool may_change(const struct values *v, const struct model_access *a)
{
	bool other = a->var != v->var;
	uint64_t at;

	if (!v->alike || !a->reads || a->writes || (other && v->locked) ||
	    a->at < (other ? v->first_other : v->first_alike) || a->at >= v->goal.f ||
	    a->from == MODEL_NONE || a->from_thread != v->goal.thread)
		return false;
	at = v->model->thread[v->goal.thread].access[a->from].at;
	return v->goal.e1 <= at && at <= v->end &&
	       (!v->locked || holds_lock(&v->model->thread[v->goal.other], a->at, v->lock));
}

/* Did a read in A, before g, at the same place, see this write in the run? */
static bool was_seen_by_like(struct values *v, const struct model_access *read,
			     const struct value *now)
{
	const struct model_thread *t = &v->model->thread[v->goal.thread];

	if (v->locked)
		return is_same_value(v, &t->access[model_access_at(t, v->goal.e1)], now);
	for (size_t i = model_access_at(t, read->var == v->var ? v->goal.e1 : v->begin);
	     i < t->naccesses; i++) {
		const struct model_access *a = &t->access[i];

		v->model->steps++;
		if (a->at >= v->g)
			break;
		if (a->var == read->var && a->reads && !a->writes && a->place == read->place &&
		    is_same_value(v, a, now))
			return true;
	}
	return false;
}

bool values_sees_same(struct values *v, const struct model_access *a)
{
	return is_same_value(v, a, value_of(v, a->var));
}

bool values_is_exempt(const struct values *v, const struct model_access *a)
{
	return v->f_is_free && (a->at >= v->goal.f2 || may_change(v, a));
}

/* What a read of the current write is: not allowed, as in the run, or off. */
enum sight { SIGHT_WRONG, SIGHT_SAME, SIGHT_OFF };

static enum sight classify_read(struct values *v, uint32_t thread, const struct model_access *a,
				const struct value *now)
{
	bool same = is_same_value(v, a, now);

	if (thread == v->goal.thread && a->at == v->goal.e2)
		return SIGHT_SAME;
	if (thread != v->goal.other)
		return same && !is_write_off(v, now) ? SIGHT_SAME : SIGHT_WRONG;
	if (same)
		return SIGHT_SAME;
	if (!v->f_is_free)
		return SIGHT_WRONG;
	if (a->at >= v->goal.f2 || (may_change(v, a) && was_seen_by_like(v, a, now)))
		return SIGHT_OFF;
	return SIGHT_WRONG;
}

/* Note that a read of f's thread sees another write. */
static void note_off(struct values *v, const struct model_access *a)
{
	if (v->off == VALUES_NONE_OFF)
		v->off = a->at;
	if (a->at >= v->goal.f2)
		return;
	MEM_GROW(v->changed, v->changed_cap, v->nchanged + 1);
	v->changed[v->nchanged++] = a->at;
}

/* A key for the write that a read saw in the run, or for the current write. */
static uint64_t waiting_key(uint32_t var, uint32_t thread, uint32_t access)
{
	return access ? (uint64_t)thread << 32 | access : 1ull << 63 | var;
}

static uint64_t key_of_read(const struct model_access *a)
{
	return waiting_key(a->var, a->from_thread, a->from + 1);
}

void values_expect_reads(struct values *v, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct model_thread *t = &v->model->thread[thread];

	for (size_t i = model_access_at(t, from); i < t->naccesses && t->access[i].at < to; i++) {
		const struct model_access *a = &t->access[i];
		uint32_t n;

		v->model->steps++;
		if (!a->reads || (thread == v->goal.other && a->at >= v->goal.f2 && v->f_is_free))
			continue;
		n = map_get(&v->waiting, key_of_read(a));
		map_set(&v->waiting, key_of_read(a), n == MAP_NONE ? 1 : n + 1);
		v->has_waiting = true;
	}
}

/* Have all reads that are expected to see the current write seen it, except for this access? */
static bool is_overwritable(const struct values *v, const struct model_access *a,
			    const struct value *now)
{
	uint32_t n;

	if (!v->has_waiting)
		return true;
	n = map_get(&v->waiting, waiting_key(a->var, now->thread, now->access));
	return n == MAP_NONE || n <= (a->reads && is_same_write(a, now));
}

/* The thread makes its `index`-th access. */
static bool make_access(struct values *v, uint32_t thread, size_t index)
{
	const struct model_access *a = &v->model->thread[thread].access[index];
	struct value *now = value_of(v, a->var);
	enum sight sight = a->reads ? classify_read(v, thread, a, now) : SIGHT_SAME;

	v->model->steps++;
	if (sight == SIGHT_WRONG)
		v->wrong = a;
	if (sight == SIGHT_WRONG || (a->writes && !is_overwritable(v, a, now)) ||
	    model_go(v->model, thread, a->at + 1) != MODEL_THERE)
		return false;
	if (sight == SIGHT_OFF)
		note_off(v, a);
	if (a->reads && v->has_waiting) {
		uint32_t n = map_get(&v->waiting, key_of_read(a));

		if (n != MAP_NONE && n)
			map_set(&v->waiting, key_of_read(a), n - 1);
	}
	if (a->writes) {
		now->thread = thread;
		now->access = (uint32_t)index + 1;
	}
	return true;
}

/* Returns the index of a thread's next access. */
static size_t find_next_access(struct values *v, uint32_t thread)
{
	const struct model_thread *t = &v->model->thread[thread];
	size_t i = v->next[thread];

	if ((i && t->access[i - 1].at >= t->position) ||
	    (i < t->naccesses && t->access[i].at < t->position))
		i = model_access_at(t, t->position);
	return i;
}

/*
 * Would a thread join f's thread on its way to a position, though a read of that is off? Of the
 * events that need f's thread to be further than f2, only joins can happen before it leaves its
 * sections.
 */
static bool joins_off(const struct values *v, uint32_t thread, uint64_t position)
{
	const struct model_thread *t = &v->model->thread[thread];

	if (v->off == VALUES_NONE_OFF || thread == v->goal.other)
		return false;
	for (size_t i = t->next_need; i < t->nneeds && t->need[i].at < position; i++)
		if (t->need[i].thread == v->goal.other && t->need[i].position > v->goal.f2)
			return true;
	return false;
}

bool values_go(struct values *v, uint32_t thread, uint64_t position)
{
	const struct model_thread *t = &v->model->thread[thread];
	size_t i = find_next_access(v, thread);

	if (joins_off(v, thread, position))
		return false;
	for (; i < t->naccesses && t->access[i].at < position; i++) {
		if (t->access[i].at > t->position &&
		    model_go(v->model, thread, t->access[i].at) != MODEL_THERE)
			return false;
		if (!make_access(v, thread, i))
			return false;
		v->next[thread] = i + 1;
	}
	return t->position >= position || model_go(v->model, thread, position) == MODEL_THERE;
}

/* Does a part of a schedule keep e1 before f, and f2 before e2? */
static bool is_in_order(const struct values *v, const struct model_part *p)
{
	const struct schedule_goal *goal = &v->goal;
	const struct model_thread *t = v->model->thread;

	if (p->thread == goal->other && p->from <= goal->f && p->to > goal->f)
		return t[goal->thread].position > goal->e1;
	if (p->thread == goal->thread && p->to > goal->e2)
		return t[goal->other].position > goal->f2 && p->to == goal->e2 + 1;
	return true;
}

bool values_execute(struct values *v, const struct model_schedule *s)
{
	const struct model_thread *t = v->model->thread;
	uint64_t end = 0;

	values_reset(v);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].thread == v->goal.other)
			end = s->v[i].to;
	v->f_is_free = end <= v->tail;
	for (size_t i = 0; i < s->n; i++)
		if (t[s->v[i].thread].position != s->v[i].from || !is_in_order(v, &s->v[i]) ||
		    !values_go(v, s->v[i].thread, s->v[i].to))
			return false;
	return s->n && s->v[s->n - 1].thread == v->goal.thread &&
	       t[v->goal.thread].position == v->goal.e2 + 1;
}
