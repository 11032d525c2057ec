/*
 * Which accesses meet. All that is asked about the accesses of a variable is: is there
 * one of this sort, in a phase that is concurrent with mine, and which are the first and
 * the last of them? So for each variable, sort and phase the first and the last are
 * kept. The phases of a slot that are concurrent with a given one are an interval: two
 * binary searches find it.
 */
#include "engine/commit/commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* ---- the index ---- */

struct record {
	uint32_t sort, rank;
	uint32_t segment;
	uint32_t first, last; /* operations */
};

static int by_sort(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->segment > y->segment) - (x->segment < y->segment);
}

/* Rank the phases by slot, then by index: a counting sort, since those of a slot are in order. */
static void rank_phases(struct commit_meet *m)
{
	const struct segments *u = m->segments;
	uint32_t n = u->nphases, *next;

	for (uint32_t p = 0; p < n; p++)
		if (u->phase[p].at.slot >= m->nslots)
			m->nslots = u->phase[p].at.slot + 1;
	m->rank = mem_alloc((n + 1) * sizeof *m->rank);
	m->by_rank = mem_alloc((n + 1) * sizeof *m->by_rank);
	m->in_slot = mem_zalloc((m->nslots + 1) * sizeof *m->in_slot);
	next = mem_zalloc((m->nslots + 1) * sizeof *next);
	for (uint32_t p = 0; p < n; p++)
		m->in_slot[u->phase[p].at.slot + 1]++;
	for (uint32_t s = 0; s < m->nslots; s++)
		m->in_slot[s + 1] += m->in_slot[s];
	memcpy(next, m->in_slot, (m->nslots + 1) * sizeof *next);
	for (uint32_t p = 0; p < n; p++) {
		m->rank[p] = next[u->phase[p].at.slot]++;
		m->by_rank[m->rank[p]] = p;
	}
	mem_free(next);
}

uint32_t commit_meet_after(const struct commit_meet *m, uint32_t slot, uint32_t index)
{
	uint32_t low = m->in_slot[slot], high = m->in_slot[slot + 1];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->segments->phase[m->by_rank[mid]].at.index <= index)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void see_last_events(struct commit_meet *m)
{
	const struct segments *u = m->segments;

	m->last_event = mem_zalloc((u->nphases + 1) * sizeof *m->last_event);
	for (size_t i = 0; i < u->n; i++) {
		const struct segment *t = &u->segment[i];
		uint64_t event = t->n ? segment_ops(u, t)[t->n - 1].event : 0;

		if (event > m->last_event[t->phase])
			m->last_event[t->phase] = event;
	}
}

/* One pass over the segments counts the records of each variable, the next stores them. */
static struct record *sort_records(struct commit_meet *m, size_t *start, uint32_t nvars)
{
	const struct segments *u = m->segments;
	struct record *v;
	size_t *next;

	for (size_t i = 0; i < u->n; i++) {
		commit_leaves_of(&m->leaves, &m->sorts, u, &u->segment[i], m->view);
		for (size_t k = 0; k < m->leaves.n; k++)
			start[m->leaves.v[k].var + 1]++;
	}
	for (uint32_t x = 0; x < nvars; x++)
		start[x + 1] += start[x];
	v = mem_alloc((start[nvars] + 1) * sizeof *v);
	next = mem_alloc((nvars + 1) * sizeof *next);
	memcpy(next, start, (nvars + 1) * sizeof *next);
	for (size_t i = 0; i < u->n; i++) {
		commit_leaves_of(&m->leaves, &m->sorts, u, &u->segment[i], m->view);
		for (size_t k = 0; k < m->leaves.n; k++) {
			const struct commit_leaf *leaf = &m->leaves.v[k];

			v[next[leaf->var]++] =
				(struct record){leaf->sort, m->rank[u->segment[i].phase],
						(uint32_t)i, leaf->first.op, leaf->last.op};
		}
	}
	mem_free(next);
	for (uint32_t x = 0; x < nvars; x++)
		qsort(v + start[x], start[x + 1] - start[x], sizeof *v, by_sort);
	return v;
}

static uint64_t event_of(const struct segments *u, struct commit_op at)
{
	const struct segment *t = &u->segment[at.segment];

	return t->transaction ? t->begin : segment_ops(u, t)[at.op].event;
}

/* Make sums and groups of the records of one variable. */
static void add_groups(struct commit_meet *m, const struct record *v, size_t n)
{
	const struct segments *u = m->segments;

	for (size_t i = 0; i < n; i++) {
		const struct record *r = &v[i];
		uint32_t phase = m->by_rank[r->rank], slot = u->phase[phase].at.slot;
		struct commit_group *g = m->ngroups ? &m->group[m->ngroups - 1] : NULL;
		struct commit_sum *sum;
		uint64_t at;

		if (!i || !g || v[i - 1].sort != r->sort || g->slot != slot) {
			MEM_GROW(m->group, m->group_cap, m->ngroups + 1);
			g = &m->group[m->ngroups++];
			*g = (struct commit_group){r->sort, slot, m->nsums, m->nsums};
		}
		if (g->begin == g->end || m->sum[m->nsums - 1].phase != phase) {
			m->sum[m->nsums++] = (struct commit_sum){
				phase,
				{r->segment, r->first},
				{0},
				event_of(u, (struct commit_op){r->segment, r->first}),
				0};
			g->end = m->nsums;
		}
		sum = &m->sum[m->nsums - 1];
		sum->last = (struct commit_op){r->segment, r->last};
		/* When equal segments came again is not known: perhaps as late as possible. */
		at = u->segment[r->segment].times > 1 ? m->last_event[phase] : 0;
		if (event_of(u, sum->last) > at)
			at = event_of(u, sum->last);
		sum->max = at > sum->max ? at : sum->max;
	}
}

void commit_meet_init(struct commit_meet *m, const struct segments *u, bool view)
{
	uint32_t nvars = u->contention.nlives;
	struct record *v;
	size_t *start;

	*m = (struct commit_meet){.segments = u, .view = view};
	commit_sorts_init(&m->sorts);
	rank_phases(m);
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
			    uint32_t phase, size_t *begin, size_t *end)
{
	const struct segment_phase *p = &m->segments->phase[phase], *q;
	uint32_t before = g->slot < p->clock.n ? p->clock.at[g->slot] : 0;
	size_t low = g->begin, high = g->end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->segments->phase[m->sum[mid].phase].at.index <= before)
			low = mid + 1;
		else
			high = mid;
	}
	*begin = low;
	high = g->end;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		q = &m->segments->phase[m->sum[mid].phase];
		if (!phase_before(p->at, &q->clock))
			low = mid + 1;
		else
			high = mid;
	}
	*end = low;
	return *begin < *end;
}

/* Does a third slot, concurrent with this phase, read what either of the two writes? */
static bool seen_together(const struct commit_meet *m, uint32_t var, uint32_t phase,
			  const struct commit_sort *a, const struct commit_sort *b,
			  uint32_t other_slot)
{
	uint32_t slot = m->segments->phase[phase].at.slot;
	size_t begin, end;
	struct commit_pair pair[2];
	int n;

	for (size_t i = m->by_var[var]; i < m->by_var[var + 1]; i++) {
		const struct commit_group *g = &m->group[i];
		const struct commit_sort *r = &m->sorts.sort[g->sort];

		if (r->kind == COMMIT_READ && g->slot != slot && g->slot != other_slot &&
		    commit_can_see(&m->sorts, r->path, r->open_from, a->path, pair, &n) &&
		    commit_can_see(&m->sorts, r->path, r->open_from, b->path, pair, &n) &&
		    commit_meet_concurrent(m, g, phase, &begin, &end))
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
				       .phase = first->phase,
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

/* For a variable in the table: do accesses in this phase meet any other? */
static bool takes_part(const struct commit_meet *m, uint32_t var, uint32_t phase)
{
	uint32_t slot = m->segments->phase[phase].at.slot;
	size_t g, begin, end;

	if (m->table.var[var].all)
		return true;
	g = m->by_var[var];
	while (g < m->by_var[var + 1] && m->group[g].slot == slot)
		g++;
	return g < m->by_var[var + 1] &&
	       commit_meet_concurrent(m, &m->group[g], phase, &begin, &end);
}

void commit_meet_find(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t phase,
		      struct commit_meetings *out)
{
	const struct commit_sort *a = &m->sorts.sort[sort];
	uint32_t slot = m->segments->phase[phase].at.slot;

	out->n = 0;
	if (m->table.var[var].plain) {
		const struct commit_answer *answer;

		if (!takes_part(m, var, phase))
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
		if (!n || !commit_meet_concurrent(m, g, phase, &begin, &end) ||
		    (writes && !seen_together(m, var, phase, a, b, g->slot)))
			continue;
		for (int k = 0; k < n; k++)
			add_meeting(out, commit_meet_with(m, depth[k], g->slot, begin, end));
	}
}

uint64_t commit_meet_depths(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t phase,
			    struct commit_meetings *scratch)
{
	uint64_t depths = 0;

	if (m->table.var[var].plain)
		return takes_part(m, var, phase) ? commit_table_depths(m, var, sort) : 0;
	commit_meet_find(m, var, sort, phase, scratch);
	for (size_t i = 0; i < scratch->n; i++)
		depths |= 1ull << (scratch->v[i].depth < 63 ? scratch->v[i].depth : 63);
	return depths;
}
