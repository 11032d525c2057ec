/*
 * For a variable that is accessed under many sets of locks: a flag that is read under
 * each object's lock, or a field that is accessed under its object's lock and that of
 * any other. Nearly all pairs of its sorts have no lock in common but the variable's
 * guard, if it has one, so comparing each with each is a waste. This finds the few that
 * have another common lock. All others meet in the guard's block or, without a guard, in
 * the access. Of them, the first and the last of each kind and slot are needed: in a
 * list sorted by time, the first entry that is not among the few.
 */
#include "engine/commit/commit.h"

#include <stdlib.h>

#include "base/mem.h"

#include "base/banned.h"

struct commit_index_lock {
	uint32_t lock, run;
};

/* The groups of one kind and slot: entries [begin, end) of both lists. */
struct commit_index_part {
	uint32_t kind, slot;
	bool shut;
	size_t begin, end;
};

struct commit_index_group {
	uint32_t kind, slot, run;
	bool shut; /* without another common lock, it reads its own write in the guard's block */
	size_t sum;
	uint64_t min, max;
};

static int by_lock(const void *a, const void *b)
{
	const struct commit_index_lock *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

static int by_part(const struct commit_index_group *x, const struct commit_index_group *y)
{
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->shut != y->shut)
		return x->shut ? 1 : -1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int by_place(const struct commit_index_group *x, const struct commit_index_group *y)
{
	return (x->sum > y->sum) - (x->sum < y->sum);
}

static int by_min(const void *a, const void *b)
{
	const struct commit_index_group *x = a, *y = b;
	int order = by_part(x, y);

	if (!order)
		order = (x->min > y->min) - (x->min < y->min);
	return order ? order : by_place(x, y);
}

static int by_max(const void *a, const void *b)
{
	const struct commit_index_group *x = a, *y = b;
	int order = by_part(x, y);

	if (!order)
		order = (x->max < y->max) - (x->max > y->max);
	return order ? order : by_place(x, y);
}

/* Returns the depth of the guard on a path; 0 if there is none. */
static uint32_t guard_depth(const struct commit_index *x, const struct commit_sorts *s,
			    uint32_t path)
{
	const held *v = commit_path_held(s, path);

	for (uint32_t i = 0; x->guard != COMMIT_NONE && i < s->path[path].depth; i++)
		if (held_lock(v[i]) == x->guard)
			return i + 1;
	return 0;
}

/* Returns the path on which an access of this sort reads. */
static uint32_t reading_path(const struct commit_sort *a)
{
	return a->kind == COMMIT_OWN ? a->reader : a->path;
}

static bool is_shut(const struct commit_index *x, const struct commit_sorts *s,
		    const struct commit_sort *a)
{
	return x->guard != COMMIT_NONE && (a->kind == COMMIT_READ || a->kind == COMMIT_OWN) &&
	       guard_depth(x, s, reading_path(a)) < a->open_from;
}

static void add_locks(struct commit_index *x, const struct commit_sorts *s, uint32_t path,
		      uint32_t run, size_t *cap)
{
	const held *v = commit_path_held(s, path);

	for (uint32_t i = 0; i < s->path[path].depth; i++) {
		if (held_lock(v[i]) == x->guard)
			continue;
		MEM_GROW(x->lock, *cap, x->nlocks + 1);
		x->lock[x->nlocks++] = (struct commit_index_lock){held_lock(v[i]), run};
	}
}

static void cut_parts(struct commit_index *x, size_t n)
{
	size_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		if (!i || by_part(&x->by_min[i - 1], &x->by_min[i])) {
			MEM_GROW(x->part, cap, x->nparts + 1);
			x->part[x->nparts++] = (struct commit_index_part){
				x->by_min[i].kind, x->by_min[i].slot, x->by_min[i].shut, i, i};
		}
		x->part[x->nparts - 1].end = i + 1;
	}
}

/*
 * Are there reads in three slots that see every write: without a lock, or without a
 * write of their own before?
 */
static bool is_read_by_all(const struct commit_meet *m, uint32_t var)
{
	uint32_t slot[3], n = 0;

	for (size_t g = m->by_var[var]; g < m->by_var[var + 1] && n < 3; g++) {
		const struct commit_sort *s = &m->sorts.sort[m->group[g].sort];
		bool known = s->kind != COMMIT_READ || (s->path && s->open_from);

		for (uint32_t i = 0; i < n; i++)
			known |= slot[i] == m->group[g].slot;
		if (!known)
			slot[n++] = m->group[g].slot;
	}
	return n == 3;
}

struct commit_index *commit_index_new(const struct commit_meet *m, uint32_t var)
{
	struct commit_index *x = mem_zalloc(sizeof *x);
	size_t first = m->by_var[var], n = m->by_var[var + 1] - first, run_cap = 0, lock_cap = 0;

	x->guard = m->table.var[var].guard;
	x->by_min = mem_alloc((n + 1) * sizeof *x->by_min);
	x->by_max = mem_alloc((n + 1) * sizeof *x->by_max);
	for (size_t i = 0; i < n; i++) {
		const struct commit_group *g = &m->group[first + i];
		const struct commit_sort *s = &m->sorts.sort[g->sort];

		if (!i || g[-1].sort != g->sort) {
			MEM_GROW(x->run, run_cap, (size_t)x->nruns + 1);
			x->run[x->nruns++] = (struct commit_run){first + i, first + i, 0};
			add_locks(x, &m->sorts, s->path, x->nruns - 1, &lock_cap);
			if (reading_path(s) != s->path)
				add_locks(x, &m->sorts, reading_path(s), x->nruns - 1, &lock_cap);
		}
		x->run[x->nruns - 1].end = first + i + 1;
		x->by_min[i] = x->by_max[i] = (struct commit_index_group){s->kind,
									  g->slot,
									  x->nruns - 1,
									  is_shut(x, &m->sorts, s),
									  g->begin,
									  m->sum[g->begin].min,
									  m->sum[g->begin].max};
	}
	if (x->nlocks)
		qsort(x->lock, x->nlocks, sizeof *x->lock, by_lock);
	qsort(x->by_min, n, sizeof *x->by_min, by_min);
	qsort(x->by_max, n, sizeof *x->by_max, by_max);
	cut_parts(x, n);
	x->read_by_all = is_read_by_all(m, var);
	return x;
}

void commit_index_free(struct commit_index *x)
{
	if (!x)
		return;
	mem_free(x->run);
	mem_free(x->lock);
	mem_free(x->part);
	mem_free(x->by_min);
	mem_free(x->by_max);
	mem_free(x);
}

enum manner {
	NEVER,
	MEETS, /* without another common lock they meet, and nothing else matters */
	ASK,
};

static enum manner manner_of(const struct commit_index *x, bool view, uint32_t a, uint32_t b)
{
	if (a == COMMIT_WRITE && b == COMMIT_WRITE)
		return !view || x->read_by_all ? MEETS : ASK;
	if (a == COMMIT_WRITE)
		return b == COMMIT_READ || b == COMMIT_OWN ? MEETS : NEVER;
	if (b == COMMIT_WRITE)
		return a == COMMIT_READ || a == COMMIT_OWN ? MEETS : NEVER;
	return a == COMMIT_FINAL && b == COMMIT_FINAL ? MEETS : NEVER;
}

/* Call `run` for the runs that hold this lock too. */
static void ask_lock(struct commit_index *x, uint32_t lock,
		     void (*run)(void *arg, size_t begin, size_t end), void *arg)
{
	size_t low = 0, high = x->nlocks;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (x->lock[mid].lock < lock)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < x->nlocks && x->lock[low].lock == lock; low++) {
		struct commit_run *r = &x->run[x->lock[low].run];

		if (r->mark == x->mark)
			continue;
		r->mark = x->mark;
		run(arg, r->begin, r->end);
	}
}

static void ask_path(struct commit_index *x, const struct commit_meet *m, uint32_t path,
		     void (*run)(void *arg, size_t begin, size_t end), void *arg)
{
	const held *v = commit_path_held(&m->sorts, path);

	for (uint32_t i = 0; i < m->sorts.path[path].depth; i++)
		if (held_lock(v[i]) != x->guard)
			ask_lock(x, held_lock(v[i]), run, arg);
}

/* Call `met` with the first and the last of a part, among those that were not compared. */
static void ask_part(const struct commit_index *x, const struct commit_meet *m,
		     const struct commit_index_part *p, uint32_t depth,
		     void (*met)(void *arg, struct commit_meeting met), void *arg)
{
	struct commit_meeting new;
	size_t i = p->begin, k = i;

	while (i < p->end && x->run[x->by_min[i].run].mark == x->mark)
		i++;
	if (i == p->end)
		return;
	while (x->run[x->by_max[k].run].mark == x->mark)
		k++;
	new = commit_meet_with(m, depth, p->slot, x->by_min[i].sum, x->by_min[i].sum + 1);
	new.max = x->by_max[k].max;
	new.at_max = m->sum[x->by_max[k].sum].last;
	met(arg, new);
}

void commit_index_ask(struct commit_index *x, const struct commit_meet *m,
		      const struct commit_sort *a, void (*run)(void *arg, size_t begin, size_t end),
		      void (*met)(void *arg, struct commit_meeting met), void *arg)
{
	bool shut = is_shut(x, &m->sorts, a);
	uint32_t depth = guard_depth(x, &m->sorts, a->path);

	x->mark++;
	ask_path(x, m, a->path, run, arg);
	if (reading_path(a) != a->path)
		ask_path(x, m, reading_path(a), run, arg);
	for (size_t i = 0; i < x->nparts; i++) {
		const struct commit_index_part *p = &x->part[i];
		enum manner manner = manner_of(x, m->view, a->kind, p->kind);

		if (manner == MEETS && !shut && !p->shut)
			ask_part(x, m, p, depth, met, arg);
		for (size_t k = p->begin; manner == ASK && k < p->end; k++) {
			struct commit_run *r = &x->run[x->by_min[k].run];

			if (r->mark == x->mark)
				continue;
			r->mark = x->mark;
			run(arg, r->begin, r->end);
		}
	}
}
