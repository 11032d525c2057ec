/*
 * Variables with many sorts of accesses: a variable under some dozen lock paths in each
 * of some dozen threads has thousands of groups, too many to compare each of them with
 * every access.
 *
 * Most such variables are plain: each slot has one phase in which it meets others, and
 * all of these phases are concurrent. Then what an access meets depends only on its sort
 * and slot; except that its own slot is left out, only on its sort. So there is one
 * answer for each sort, in which meetings in the same node and slot are merged. Whether
 * two writes have a common reader in a third slot may depend on one reader: then the
 * answer says for which slot it does not hold.
 *
 * And most such variables have a guard: a lock that is held at each access. Then the
 * first question, in which nodes an access may meet others, is answered without further
 * comparisons: in the guard's block, or one around it.
 */
#include "engine/commit/commit.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* With fewer groups, comparing them is as quick. */
enum { MANY = 2 };

void commit_table_free(struct commit_table *t)
{
	mem_free(t->var);
	for (uint32_t i = 0; i < t->nindexes; i++)
		commit_index_free(t->index[i]);
	mem_free(t->index);
	mem_free(t->answer);
	mem_free(t->met.v);
	mem_free(t->fold[0]);
	mem_free(t->fold[1]);
	mem_free(t->phase_of);
	mem_free(t->of_slot);
	*t = (struct commit_table){0};
}

static bool meets_anybody(const struct commit_meet *m, uint32_t var, uint32_t phase)
{
	uint32_t slot = m->segments->phase[phase].at.slot;
	size_t begin, end;

	for (size_t g = m->by_var[var]; g < m->ngroups; g++)
		if (m->group[g].slot != slot &&
		    commit_meet_concurrent(m, &m->group[g], phase, &begin, &end))
			return true;
	return false;
}

/*
 * Drop accesses that are concurrent with no other of the variable, such as those before a
 * fork. Returns whether there were any.
 */
static bool drop_lonely(struct commit_meet *m, uint32_t var)
{
	size_t g = m->by_var[var], sums = m->group[g].begin, groups = g;
	/* Whether a phase is dropped must not depend on those dropped before. */
	size_t first = sums;
	bool dropped, *lonely = mem_alloc((m->nsums - first + 1) * sizeof *lonely);

	for (size_t i = first; i < m->nsums; i++)
		lonely[i - first] = !meets_anybody(m, var, m->sum[i].phase);
	for (; g < m->ngroups; g++) {
		struct commit_group kept = m->group[g];

		kept.begin = sums;
		for (size_t i = m->group[g].begin; i < m->group[g].end; i++)
			if (!lonely[i - first])
				m->sum[sums++] = m->sum[i];
		kept.end = sums;
		if (kept.begin < kept.end)
			m->group[groups++] = kept;
	}
	mem_free(lonely);
	dropped = sums < m->nsums;
	m->ngroups = groups;
	m->nsums = sums;
	return dropped;
}

/* Has each slot one phase, and are they all concurrent? */
static bool is_plain(struct commit_meet *m, uint32_t var)
{
	struct commit_table *t = &m->table;
	uint32_t *slots = mem_alloc((m->nslots + 1) * sizeof *slots), n = 0;
	bool plain = true;

	if (!t->phase_of) {
		t->phase_of = mem_alloc((m->nslots + 1) * sizeof *t->phase_of);
		t->of_slot = mem_zalloc((m->nslots + 1) * sizeof *t->of_slot);
	}
	t->stamp++;
	for (size_t g = m->by_var[var]; g < m->ngroups && plain; g++) {
		const struct commit_group *group = &m->group[g];
		uint32_t phase = m->sum[group->begin].phase;

		if (t->of_slot[group->slot] != t->stamp) {
			t->of_slot[group->slot] = t->stamp;
			t->phase_of[group->slot] = phase;
			slots[n++] = group->slot;
		}
		plain = group->end - group->begin == 1 && t->phase_of[group->slot] == phase;
	}
	for (uint32_t i = 0; i < n && plain; i++)
		for (uint32_t k = 0; k < i && plain; k++)
			plain = segments_concurrent(m->segments, t->phase_of[slots[i]],
						    t->phase_of[slots[k]]);
	mem_free(slots);
	return plain;
}

/* Is the lock held at all accesses, and exclusively at writes? */
static bool is_guard(const struct commit_meet *m, uint32_t var, uint32_t lock)
{
	for (size_t g = m->by_var[var]; g < m->ngroups; g++) {
		const struct commit_sort *sort = &m->sorts.sort[m->group[g].sort];
		const held *v = commit_path_held(&m->sorts, sort->path);
		uint32_t n = m->sorts.path[sort->path].depth, i = 0;

		if (g > m->by_var[var] && m->group[g - 1].sort == m->group[g].sort)
			continue;
		while (i < n && held_lock(v[i]) != lock)
			i++;
		if (i == n || (sort->kind != COMMIT_READ && !held_exclusive(v[i])))
			return false;
	}
	return true;
}

static uint32_t find_guard(const struct commit_meet *m, uint32_t var)
{
	const struct commit_sort *sort = &m->sorts.sort[m->group[m->by_var[var]].sort];
	const held *v = commit_path_held(&m->sorts, sort->path);

	for (uint32_t i = 0; i < m->sorts.path[sort->path].depth; i++)
		if (is_guard(m, var, held_lock(v[i])))
			return held_lock(v[i]);
	return COMMIT_NONE;
}

void commit_table_look(struct commit_meet *m, uint32_t var)
{
	struct commit_var *v = &m->table.var[var];

	if (m->ngroups - m->by_var[var] <= MANY)
		return;
	v->all = !drop_lonely(m, var);
	v->plain = m->ngroups > m->by_var[var] && is_plain(m, var);
	if (v->plain)
		v->guard = find_guard(m, var);
}

uint64_t commit_table_depths(struct commit_meet *m, uint32_t var, uint32_t sort)
{
	uint32_t path = m->sorts.sort[sort].path, guard = m->table.var[var].guard, depth = 0;
	const held *v = commit_path_held(&m->sorts, path);

	/* The outermost common lock is the guard, or one around it. */
	while (guard != COMMIT_NONE && depth < m->sorts.path[path].depth && depth < 62)
		if (held_lock(v[depth++]) == guard)
			return (2ull << depth) - 2;
	return commit_table_answer(m, var, sort)->depths;
}

/*
 * In which slots is there a read of what either of two accesses writes? The first three
 * slots found are enough: one of them belongs to neither of the two.
 */
static uint32_t common_readers(const struct commit_meet *m, uint32_t var,
			       const struct commit_sort *a, const struct commit_sort *b,
			       uint32_t slot[3])
{
	uint32_t n = 0;
	struct commit_pair pair[2];
	bool sees = false;
	int ignored;

	for (size_t g = m->by_var[var]; g < m->by_var[var + 1] && n < 3; g++) {
		const struct commit_sort *r = &m->sorts.sort[m->group[g].sort];
		bool known = false;

		if (g == m->by_var[var] || m->group[g - 1].sort != m->group[g].sort)
			sees = r->kind == COMMIT_READ &&
			       commit_can_see(&m->sorts, r->path, r->open_from, a->path, pair,
					      &ignored) &&
			       commit_can_see(&m->sorts, r->path, r->open_from, b->path, pair,
					      &ignored);
		for (uint32_t i = 0; i < n; i++)
			known |= slot[i] == m->group[g].slot;
		if (sees && !known)
			slot[n++] = m->group[g].slot;
	}
	return n;
}

/* Add a meeting to the answer being made, or merge it with the one in this node and slot. */
static void merge_meeting(struct commit_meet *m, size_t begin, struct commit_meeting new)
{
	struct commit_table *t = &m->table;
	int which = new.unless != COMMIT_NONE;
	size_t at = (size_t) new.depth * m->nslots + new.slot;
	struct commit_meeting *old;

	MEM_GROW0(t->fold[which], t->fold_cap[which], at + 1);
	/* Entries left by an earlier answer point before this one. */
	if (t->fold[which][at] > begin) {
		old = &t->met.v[t->fold[which][at] - 1];
		if (old->unless == new.unless && old->depth == new.depth && old->slot == new.slot) {
			if (new.min < old->min) {
				old->min = new.min;
				old->at_min = new.at_min;
			}
			if (new.max > old->max) {
				old->max = new.max;
				old->at_max = new.at_max;
			}
			return;
		}
	}
	MEM_GROW(t->met.v, t->met.cap, t->met.n + 1);
	t->met.v[t->met.n++] = new;
	t->fold[which][at] = (uint32_t)t->met.n;
}

/* Add the meetings with all groups of one sort. */
static void add_run(struct commit_meet *m, uint32_t var, const struct commit_sort *a, size_t g,
		    size_t end, size_t begin)
{
	const struct commit_sort *b = &m->sorts.sort[m->group[g].sort];
	bool writes = m->view && a->kind == COMMIT_WRITE && b->kind == COMMIT_WRITE;
	uint32_t depth[2] = {0}, reader[3], nreaders = 0;
	int n;

	if (writes) {
		struct commit_pair pair[2];

		nreaders = common_readers(m, var, a, b, reader);
		n = commit_common(&m->sorts, a->path, b->path, pair);
		for (int k = 0; k < n; k++)
			depth[k] = pair[k].a;
		n = nreaders ? n ? n : 1 : 0;
	} else {
		n = commit_meets(&m->sorts, m->view, a, b, depth);
	}
	for (; n && g < end; g++) {
		uint32_t slot = m->group[g].slot, others = 0, one = COMMIT_NONE;

		for (uint32_t i = 0; i < nreaders; i++)
			if (reader[i] != slot) {
				others++;
				one = reader[i];
			}
		if (writes && !others)
			continue;
		for (int k = 0; k < n; k++) {
			struct commit_meeting new = commit_meet_with(
				m, depth[k], slot, m->group[g].begin, m->group[g].end);

			if (others == 1)
				new.unless = one;
			merge_meeting(m, begin, new);
		}
	}
}

static size_t answer_at(const struct commit_table *t, uint32_t var, uint32_t sort)
{
	uint64_t h = ((uint64_t)var << 32 | sort) * 0x9e3779b97f4a7c15ull;
	size_t i = (h ^ h >> 29) & (t->slots - 1);

	while (t->answer[i].sort && (t->answer[i].var != var || t->answer[i].sort != sort + 1))
		i = (i + 1) & (t->slots - 1);
	return i;
}

static void grow_answers(struct commit_table *t)
{
	struct commit_answer *old = t->answer;
	size_t n = t->slots;

	t->slots = n ? 2 * n : 1024;
	t->answer = mem_zalloc(t->slots * sizeof *t->answer);
	for (size_t i = 0; i < n; i++)
		if (old[i].sort)
			t->answer[answer_at(t, old[i].var, old[i].sort - 1)] = old[i];
	mem_free(old);
}

/* An answer that is being made. */
struct making {
	struct commit_meet *m;
	uint32_t var;
	const struct commit_sort *sort;
	size_t begin;
};

static void take_run(void *arg, size_t begin, size_t end)
{
	const struct making *k = arg;

	add_run(k->m, k->var, k->sort, begin, end, k->begin);
}

static void take_meeting(void *arg, struct commit_meeting met)
{
	const struct making *k = arg;

	merge_meeting(k->m, k->begin, met);
}

static struct commit_index *index_of(struct commit_meet *m, uint32_t var)
{
	struct commit_table *t = &m->table;

	if (!t->index) {
		t->nindexes = m->segments->contention.nlives;
		t->index = mem_zalloc((t->nindexes + 1) * sizeof(*t->index));
	}
	if (!t->index[var])
		t->index[var] = commit_index_new(m, var);
	return t->index[var];
}

const struct commit_answer *commit_table_answer(struct commit_meet *m, uint32_t var, uint32_t sort)
{
	struct commit_table *t = &m->table;
	struct making making = {m, var, &m->sorts.sort[sort], t->met.n};
	struct commit_answer *answer;

	if (2 * (t->nanswers + 1) > t->slots)
		grow_answers(t);
	answer = &t->answer[answer_at(t, var, sort)];
	if (answer->sort)
		return answer;
	t->nanswers++;
	*answer = (struct commit_answer){var, sort + 1, t->met.n, 0, 0};
	commit_index_ask(index_of(m, var), m, making.sort, take_run, take_meeting, &making);
	answer->end = t->met.n;
	for (size_t i = answer->begin; i < answer->end; i++)
		answer->depths |= 1ull << (t->met.v[i].depth < 63 ? t->met.v[i].depth : 63);
	return answer;
}
