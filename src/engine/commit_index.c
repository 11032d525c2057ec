/*
 * A variable that is read and written under many locks, none of them its own (a
 * flag looked at under each object's lock): nearly all pairs of its sorts have no
 * lock in common, so to compare each with each is a waste. This finds the few that
 * have one, by lock; and of the others, of each kind and slot, the first and the
 * last: in a list by time, it is the first entry that is not among the few.
 */
#include "engine/commit.h"

#include <stdlib.h>

#include "base/mem.h"

#include "base/banned.h"

struct commit_index_lock {
	uint32_t lock, run;
};

/* The groups of one kind and slot: entries [begin, end) of both lists. */
struct commit_index_part {
	uint32_t kind, slot;
	size_t begin, end;
};

struct commit_index_group {
	uint32_t kind, slot, run;
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
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int by_min(const void *a, const void *b)
{
	const struct commit_index_group *x = a, *y = b;
	int order = by_part(x, y);

	return order ? order : (x->min > y->min) - (x->min < y->min);
}

static int by_max(const void *a, const void *b)
{
	const struct commit_index_group *x = a, *y = b;
	int order = by_part(x, y);

	return order ? order : (x->max < y->max) - (x->max > y->max);
}

static void add_locks(struct commit_index *x, const struct commit_sorts *s, uint32_t path,
		      uint32_t run, size_t *cap)
{
	const held *v = commit_path_held(s, path);

	for (uint32_t i = 0; i < s->path[path].depth; i++) {
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
			x->part[x->nparts++] = (struct commit_index_part){x->by_min[i].kind,
									  x->by_min[i].slot, i, i};
		}
		x->part[x->nparts - 1].end = i + 1;
	}
}

/* Are there reads without a lock in three slots? They see every write. */
static bool is_read_by_all(const struct commit_meet *m, uint32_t var)
{
	uint32_t slots = 0;

	for (size_t g = m->by_var[var]; g < m->by_var[var + 1]; g++) {
		const struct commit_sort *s = &m->sorts.sort[m->group[g].sort];

		slots += s->kind == COMMIT_READ && !s->path && !s->open_from;
	}
	return slots >= 3;
}

struct commit_index *commit_index_new(const struct commit_meet *m, uint32_t var)
{
	struct commit_index *x = mem_zalloc(sizeof *x);
	size_t first = m->by_var[var], n = m->by_var[var + 1] - first, run_cap = 0, lock_cap = 0;

	x->by_min = mem_alloc((n + 1) * sizeof *x->by_min);
	x->by_max = mem_alloc((n + 1) * sizeof *x->by_max);
	for (size_t i = 0; i < n; i++) {
		const struct commit_group *g = &m->group[first + i];
		const struct commit_sort *s = &m->sorts.sort[g->sort];

		if (!i || g[-1].sort != g->sort) {
			MEM_GROW(x->run, run_cap, (size_t)x->nruns + 1);
			x->run[x->nruns++] = (struct commit_run){first + i, first + i, 0};
			add_locks(x, &m->sorts, s->path, x->nruns - 1, &lock_cap);
		}
		x->run[x->nruns - 1].end = first + i + 1;
		x->by_min[i] = x->by_max[i] = (struct commit_index_group){s->kind,
									  g->slot,
									  x->nruns - 1,
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
	IN_THE_ACCESS, /* without a common lock they meet, and nothing else matters */
	ASK,
};

static enum manner manner_of(const struct commit_index *x, bool view, uint32_t a, uint32_t b)
{
	bool reads_it =
		(a == COMMIT_READ && b == COMMIT_WRITE) || (a == COMMIT_WRITE && b == COMMIT_READ);

	if (reads_it || (a == COMMIT_FINAL && b == COMMIT_FINAL))
		return IN_THE_ACCESS;
	if (a == COMMIT_WRITE && b == COMMIT_WRITE)
		return !view || x->read_by_all ? IN_THE_ACCESS : ASK;
	if ((a == COMMIT_WRITE && b == COMMIT_OWN) || (a == COMMIT_OWN && b == COMMIT_WRITE))
		return ASK;
	return NEVER;
}

/* Runs that hold the lock, too. */
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

/* Of a part, the first and the last among those that were not looked at. */
static void ask_part(const struct commit_index *x, const struct commit_meet *m,
		     const struct commit_index_part *p,
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
	new = commit_meet_with(m, 0, p->slot, x->by_min[i].sum, x->by_min[i].sum + 1);
	new.max = x->by_max[k].max;
	new.at_max = m->sum[x->by_max[k].sum].last;
	met(arg, new);
}

void commit_index_ask(struct commit_index *x, const struct commit_meet *m,
		      const struct commit_sort *a, void (*run)(void *arg, size_t begin, size_t end),
		      void (*met)(void *arg, struct commit_meeting met), void *arg)
{
	const held *v = commit_path_held(&m->sorts, a->path);

	x->mark++;
	for (uint32_t i = 0; i < m->sorts.path[a->path].depth; i++)
		ask_lock(x, held_lock(v[i]), run, arg);
	for (size_t i = 0; i < x->nparts; i++) {
		const struct commit_index_part *p = &x->part[i];
		enum manner manner = manner_of(x, m->view, a->kind, p->kind);

		if (manner == IN_THE_ACCESS)
			ask_part(x, m, p, met, arg);
		for (size_t k = p->begin; manner == ASK && k < p->end; k++) {
			struct commit_run *r = &x->run[x->by_min[k].run];

			if (r->mark == x->mark)
				continue;
			r->mark = x->mark;
			run(arg, r->begin, r->end);
		}
	}
}
