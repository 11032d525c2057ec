/*
 * Who meets whom. All that others can ask of a variable's accesses is: is there
 * one of this sort, in a period that is concurrent with mine, and which are the
 * first and the last of them? So for each variable, sort and period the first and
 * the last are kept, and a slot's periods that are concurrent with a given one
 * are an interval of its sequence: two binary searches find them.
 */
#include "engine/commit/commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* ---- the index ---- */

struct record {
	uint32_t sort, rank;
	uint32_t unit;
	uint32_t first, last; /* operations */
};

static int by_sort(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* By slot, then by index: a counting sort over slots, as periods of one come in order. */
static void rank_periods(struct commit_meet *m)
{
	const struct units *u = m->units;
	uint32_t n = u->nperiods, *next;

	for (uint32_t p = 0; p < n; p++)
		if (u->period[p].at.slot >= m->nslots)
			m->nslots = u->period[p].at.slot + 1;
	m->rank = mem_alloc((n + 1) * sizeof *m->rank);
	m->by_rank = mem_alloc((n + 1) * sizeof *m->by_rank);
	m->in_slot = mem_zalloc((m->nslots + 1) * sizeof *m->in_slot);
	next = mem_zalloc((m->nslots + 1) * sizeof *next);
	for (uint32_t p = 0; p < n; p++)
		m->in_slot[u->period[p].at.slot + 1]++;
	for (uint32_t s = 0; s < m->nslots; s++)
		m->in_slot[s + 1] += m->in_slot[s];
	memcpy(next, m->in_slot, (m->nslots + 1) * sizeof *next);
	for (uint32_t p = 0; p < n; p++) {
		m->rank[p] = next[u->period[p].at.slot]++;
		m->by_rank[m->rank[p]] = p;
	}
	mem_free(next);
}

uint32_t commit_meet_after(const struct commit_meet *m, uint32_t slot, uint32_t index)
{
	uint32_t low = m->in_slot[slot], high = m->in_slot[slot + 1];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->units->period[m->by_rank[mid]].at.index <= index)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void see_last_events(struct commit_meet *m)
{
	const struct units *u = m->units;

	m->last_event = mem_zalloc((u->nperiods + 1) * sizeof *m->last_event);
	for (size_t i = 0; i < u->n; i++) {
		const struct unit *t = &u->unit[i];
		uint64_t event = t->n ? unit_ops(u, t)[t->n - 1].event : 0;

		if (event > m->last_event[t->period])
			m->last_event[t->period] = event;
	}
}

/* One pass over the units counts each variable's records, the next puts them in their place. */
static struct record *sort_records(struct commit_meet *m, size_t *start, uint32_t nvars)
{
	const struct units *u = m->units;
	struct record *v;
	size_t *next;

	for (size_t i = 0; i < u->n; i++) {
		commit_leaves_of(&m->leaves, &m->sorts, u, &u->unit[i], m->view);
		for (size_t k = 0; k < m->leaves.n; k++)
			start[m->leaves.v[k].var + 1]++;
	}
	for (uint32_t x = 0; x < nvars; x++)
		start[x + 1] += start[x];
	v = mem_alloc((start[nvars] + 1) * sizeof *v);
	next = mem_alloc((nvars + 1) * sizeof *next);
	memcpy(next, start, (nvars + 1) * sizeof *next);
	for (size_t i = 0; i < u->n; i++) {
		commit_leaves_of(&m->leaves, &m->sorts, u, &u->unit[i], m->view);
		for (size_t k = 0; k < m->leaves.n; k++) {
			const struct commit_leaf *leaf = &m->leaves.v[k];

			v[next[leaf->var]++] =
				(struct record){leaf->sort, m->rank[u->unit[i].period], (uint32_t)i,
						leaf->first.op, leaf->last.op};
		}
	}
	mem_free(next);
	for (uint32_t x = 0; x < nvars; x++)
		qsort(v + start[x], start[x + 1] - start[x], sizeof *v, by_sort);
	return v;
}

static uint64_t when(const struct units *u, struct commit_op at)
{
	const struct unit *t = &u->unit[at.unit];

	return t->transaction ? t->begin : unit_ops(u, t)[at.op].event;
}

/* Records of one variable become sums and groups. */
static void add_groups(struct commit_meet *m, const struct record *v, size_t n)
{
	const struct units *u = m->units;

	for (size_t i = 0; i < n; i++) {
		const struct record *r = &v[i];
		uint32_t period = m->by_rank[r->rank], slot = u->period[period].at.slot;
		struct commit_group *g = m->ngroups ? &m->group[m->ngroups - 1] : NULL;
		struct commit_sum *sum;
		uint64_t at;

		if (!i || !g || v[i - 1].sort != r->sort || g->slot != slot) {
			MEM_GROW(m->group, m->group_cap, m->ngroups + 1);
			g = &m->group[m->ngroups++];
			*g = (struct commit_group){r->sort, slot, m->nsums, m->nsums};
		}
		if (g->begin == g->end || m->sum[m->nsums - 1].period != period) {
			m->sum[m->nsums++] =
				(struct commit_sum){period,
						    {r->unit, r->first},
						    {0},
						    when(u, (struct commit_op){r->unit, r->first}),
						    0};
			g->end = m->nsums;
		}
		sum = &m->sum[m->nsums - 1];
		sum->last = (struct commit_op){r->unit, r->last};
		/* Of units that came again it is not known when: perhaps as late as can be. */
		at = u->unit[r->unit].times > 1 ? m->last_event[period] : 0;
		if (when(u, sum->last) > at)
			at = when(u, sum->last);
		sum->max = at > sum->max ? at : sum->max;
	}
}

void commit_meet_init(struct commit_meet *m, const struct units *u, bool view)
{
	uint32_t nvars = u->shares.nlives;
	struct record *v;
	size_t *start;

	*m = (struct commit_meet){.units = u, .view = view};
	commit_sorts_init(&m->sorts);
	rank_periods(m);
	see_last_events(m);
	start = mem_zalloc((nvars + 1) * sizeof *start);
	v = sort_records(m, start, nvars);
	m->sum = mem_alloc((start[nvars] + 1) * sizeof *m->sum);
	m->by_var = mem_alloc((nvars + 1) * sizeof *m->by_var);
	m->table.var = mem_zalloc((nvars + 1) * sizeof *m->table.var);
	for (uint32_t x = 0; x < nvars; x++) {
		m->by_var[x] = m->ngroups;
		add_groups(m, v + start[x], start[x + 1] - start[x]);
		commit_table_look(m, x);
	}
	m->by_var[nvars] = m->ngroups;
	mem_free(start);
	mem_free(v);
}

void commit_meet_free(struct commit_meet *m)
{
	commit_sorts_free(&m->sorts);
	commit_leaves_free(&m->leaves);
	commit_table_free(&m->table);
	mem_free(m->sum);
	mem_free(m->group);
	mem_free(m->by_var);
	mem_free(m->last_event);
	mem_free(m->rank);
	mem_free(m->by_rank);
	mem_free(m->in_slot);
}

/* ---- questions ---- */

bool commit_meet_concurrent(const struct commit_meet *m, const struct commit_group *g,
			    uint32_t period, size_t *begin, size_t *end)
{
	const struct unit_period *p = &m->units->period[period], *q;
	uint32_t before = g->slot < p->clock.n ? p->clock.at[g->slot] : 0;
	size_t low = g->begin, high = g->end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->units->period[m->sum[mid].period].at.index <= before)
			low = mid + 1;
		else
			high = mid;
	}
	*begin = low;
	high = g->end;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		q = &m->units->period[m->sum[mid].period];
		if (!period_before(p->at, &q->clock))
			low = mid + 1;
		else
			high = mid;
	}
	*end = low;
	return *begin < *end;
}

/* Does a third one, concurrent with this period, read what either of the two writes? */
static bool seen_together(const struct commit_meet *m, uint32_t var, uint32_t period,
			  const struct commit_sort *a, const struct commit_sort *b,
			  uint32_t other_slot)
{
	uint32_t slot = m->units->period[period].at.slot;
	size_t begin, end;
	struct commit_pair pair[2];
	int n;

	for (size_t i = m->by_var[var]; i < m->by_var[var + 1]; i++) {
		const struct commit_group *g = &m->group[i];
		const struct commit_sort *r = &m->sorts.sort[g->sort];

		if (r->kind == COMMIT_READ && g->slot != slot && g->slot != other_slot &&
		    commit_can_see(&m->sorts, r->path, r->open_from, a->path, pair, &n) &&
		    commit_can_see(&m->sorts, r->path, r->open_from, b->path, pair, &n) &&
		    commit_meet_concurrent(m, g, period, &begin, &end))
			return true;
	}
	return false;
}

struct commit_meeting commit_meet_with(const struct commit_meet *m, uint32_t depth, uint32_t slot,
				       size_t begin, size_t end)
{
	const struct commit_sum *first = &m->sum[begin], *last = &m->sum[end - 1];

	return (struct commit_meeting){.depth = depth,
				       .slot = slot,
				       .unless = COMMIT_NONE,
				       .period = first->period,
				       .min = first->min,
				       .max = last->max,
				       .at_min = first->first,
				       .at_max = last->last};
}

static void add_meeting(struct commit_meetings *out, struct commit_meeting new)
{
	MEM_GROW(out->v, out->cap, out->n + 1);
	out->v[out->n++] = new;
}

/* Of a variable that the table knows: do accesses in this period meet anybody? */
static bool takes_part(const struct commit_meet *m, uint32_t var, uint32_t period)
{
	uint32_t slot = m->units->period[period].at.slot;
	size_t g, begin, end;

	if (m->table.var[var].all)
		return true;
	g = m->by_var[var];
	while (g < m->by_var[var + 1] && m->group[g].slot == slot)
		g++;
	return g < m->by_var[var + 1] &&
	       commit_meet_concurrent(m, &m->group[g], period, &begin, &end);
}

void commit_meet_find(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t period,
		      struct commit_meetings *out)
{
	const struct commit_sort *a = &m->sorts.sort[sort];
	uint32_t slot = m->units->period[period].at.slot;

	out->n = 0;
	if (m->table.var[var].plain) {
		const struct commit_answer *answer;

		if (!takes_part(m, var, period))
			return;
		answer = commit_table_answer(m, var, sort);
		for (size_t i = answer->begin; i < answer->end; i++) {
			const struct commit_meeting *met = &m->table.met.v[i];

			if (met->slot != slot && met->unless != slot)
				add_meeting(out, *met);
		}
		return;
	}
	for (size_t i = m->by_var[var]; i < m->by_var[var + 1]; i++) {
		const struct commit_group *g = &m->group[i];
		const struct commit_sort *b = &m->sorts.sort[g->sort];
		bool writes = m->view && a->kind == COMMIT_WRITE && b->kind == COMMIT_WRITE;
		uint32_t depth[2] = {0};
		size_t begin, end;
		int n = 0;

		if (g->slot == slot)
			continue;
		if (writes) {
			struct commit_pair pair[2];

			n = commit_common(&m->sorts, a->path, b->path, pair);
			for (int k = 0; k < n; k++)
				depth[k] = pair[k].a;
			n = n ? n : 1;
		} else {
			n = commit_meets(&m->sorts, m->view, a, b, depth);
		}
		if (!n || !commit_meet_concurrent(m, g, period, &begin, &end) ||
		    (writes && !seen_together(m, var, period, a, b, g->slot)))
			continue;
		for (int k = 0; k < n; k++)
			add_meeting(out, commit_meet_with(m, depth[k], g->slot, begin, end));
	}
}

uint64_t commit_meet_depths(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t period,
			    struct commit_meetings *scratch)
{
	uint64_t depths = 0;

	if (m->table.var[var].plain)
		return takes_part(m, var, period) ? commit_table_depths(m, var, sort) : 0;
	commit_meet_find(m, var, sort, period, scratch);
	for (size_t i = 0; i < scratch->n; i++)
		depths |= 1ull << (scratch->v[i].depth < 63 ? scratch->v[i].depth : 63);
	return depths;
}
