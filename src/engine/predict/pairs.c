#include "engine/predict/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "engine/predict/two.h"

#include "base/banned.h"

/* Beyond this (256 MiB) the order by forks and joins is not computed; the schedule decides. */
enum { ORDER_MAX = 1 << 26 };
/* If there are more pairs of histories, they are compared look by look. */
enum { MANY = 1 << 12 };

/* A witness, and what it is grouped by. */
struct member {
	uint32_t hist, took, witness, thread;
	uint64_t look;
	uint64_t event;
	size_t end; /* of the first of a group (one history and `took`): where the next group begins
		     */
};

struct members {
	struct member *v;
	size_t n, cap;
	size_t groups;
};

/* Members of one look, history, `took` and thread: used instead of groups if there are many
 * histories. */
struct cluster {
	size_t first, end;
	uint64_t look, event; /* of its first member */
	uint32_t thread;
	size_t run; /* clusters from this one on with this thread */
};

/* The candidates kept that look the same, and the last event of the latest. */
struct look {
	size_t candidate[PAIRS_TRIES];
	uint32_t n, worst;
};

struct pairs {
	struct witnesses *w;
	struct candidates *out;
	bool all;
	uint64_t most; /* comparisons, at most; 0: no limit */
	uint32_t
		*over; /* [stretch * threads + thread]: stretches of that thread that come before */
	struct members pairs, singles; /* of one variable, or of two */
	struct map looks;              /* hash of two looks -> number */
	struct look *look;             /* by that number */
	size_t look_cap;
};

/*
 * Compute `over`. A stretch comes after the previous one of its thread, and after
 * `from`; both have smaller numbers.
 */
static void order_stretches(struct pairs *p)
{
	const struct witnesses *w = p->w;
	size_t nt = w->nthreads;
	uint32_t *last;

	if (w->nstretches == nt || w->nstretches > ORDER_MAX / nt)
		return;
	last = mem_alloc(nt * sizeof *last);
	p->over = mem_zalloc(w->nstretches * nt * sizeof *p->over);
	for (size_t i = 0; i < w->nstretches; i++) {
		const struct witness_stretch *s = &w->stretch[i];
		uint32_t *mine = &p->over[i * nt];

		if (s->index)
			memcpy(mine, &p->over[last[s->thread] * nt], nt * sizeof *mine);
		if (s->from != WITNESS_NONE) {
			const struct witness_stretch *from = &w->stretch[s->from];
			const uint32_t *theirs = &p->over[s->from * nt];

			for (size_t t = 0; t < nt; t++)
				if (theirs[t] > mine[t])
					mine[t] = theirs[t];
			if (from->index + 1 > mine[from->thread])
				mine[from->thread] = from->index + 1;
		}
		last[s->thread] = (uint32_t)i;
	}
	mem_free(last);
}

/* Can two threads be in these stretches at the same time? */
static bool are_concurrent(const struct pairs *p, uint32_t a, uint32_t b)
{
	const struct witness_stretch *x = &p->w->stretch[a], *y = &p->w->stretch[b];
	size_t nt = p->w->nthreads;

	return !p->over ||
	       (p->over[a * nt + y->thread] <= y->index && p->over[b * nt + x->thread] <= x->index);
}

/* Returns a hash of what the fingerprint is computed from; see finding_seal(). */
static uint64_t look_of(const struct witnesses *w, const struct witness *x)
{
	const struct witness_entry *entry = &w->entry[x->entry];
	uint64_t h = map_mix((uint64_t)entry->role << 24 | (uint64_t)x->kind << 16 |
			     (uint64_t)x->op1 << 8 | x->op2);
	bool placed = x->place2 && (x->place1 || !witness_is_pair((enum witness_kind)x->kind));
	uint64_t part[] = {x->place1, x->place2, w->tx[x->tx].label,
			   placed ? 0 : (uint64_t)entry->var2 << 32 | (entry->var + 1ull)};

	/* Four places make too many combinations: count f1 and f2 by their block only. */
	if (entry->role == WITNESS_INNER)
		part[0] = part[1] = 0;
	for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
		h = map_mix(h + part[i] * 0x9e3779b97f4a7c15ull);
	return h;
}

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->hist != y->hist)
		return x->hist > y->hist ? 1 : -1;
	if (x->took != y->took)
		return x->took > y->took ? 1 : -1;
	if (x->look != y->look)
		return x->look > y->look ? 1 : -1;
	if (x->thread != y->thread)
		return x->thread > y->thread ? 1 : -1;
	return (x->event > y->event) - (x->event < y->event);
}

static void group(struct members *m)
{
	size_t first = 0;

	qsort(m->v, m->n, sizeof *m->v, by_group);
	m->groups = 0;
	for (size_t i = 1; i <= m->n; i++) {
		if (i < m->n && m->v[i].hist == m->v[first].hist &&
		    m->v[i].took == m->v[first].took)
			continue;
		m->v[first].end = i;
		first = i;
		m->groups++;
	}
}

/* Is it a witness of e1 and e2? */
static bool is_pair(const struct witnesses *w, const struct witness *x)
{
	switch ((enum witness_role)w->entry[x->entry].role) {
	case WITNESS_ONE:
		return witness_is_pair((enum witness_kind)x->kind);
	case WITNESS_OUTER:
		return true;
	case WITNESS_INNER:
		return false;
	}
	return false;
}

/* Collect the witnesses of an entry and the following ones. False: there are no candidates. */
static bool collect_members(struct pairs *p, uint32_t first)
{
	const struct witnesses *w = p->w;

	p->pairs.n = p->singles.n = 0;
	if (first == WITNESS_NONE || w->entry[first].next_of_var == WITNESS_NONE)
		return false;
	for (uint32_t e = first; e != WITNESS_NONE; e = w->entry[e].next_of_var) {
		for (uint32_t i = w->entry[e].first_witness; i != WITNESS_NONE; i = w->v[i].next) {
			const struct witness *x = &w->v[i];
			struct members *to = is_pair(w, x) ? &p->pairs : &p->singles;

			MEM_GROW(to->v, to->cap, to->n + 1);
			to->v[to->n++] = (struct member){.hist = w->state[x->state].hist,
							 .took = w->state[x->state].took,
							 .witness = i,
							 .thread = w->entry[e].thread,
							 .look = look_of(w, x),
							 .event = x->e2};
		}
	}
	if (!p->pairs.n || !p->singles.n)
		return false;
	group(&p->pairs);
	group(&p->singles);
	return true;
}

/* Returns the end of the members that look like member i and have its thread. */
static size_t look_end(const struct members *m, size_t i, size_t group_end)
{
	size_t end = i + 1;

	while (end < group_end && m->v[end].look == m->v[i].look &&
	       m->v[end].thread == m->v[i].thread)
		end++;
	return end;
}

/* Does f conflict with e1 and e2; or f1 with e1 and f2 with e2? */
static bool conflict(const struct witnesses *w, const struct witness *pair,
		     const struct witness *single)
{
	/* One bit each: the first access writes, the second does. */
	if (w->entry[single->entry].role == WITNESS_INNER)
		return ((pair->kind - WITNESS_RR) | (single->kind - WITNESS_RR)) == 3;
	return single->kind == WITNESS_W || pair->kind == WITNESS_WW;
}

static uint32_t look_number(struct pairs *p, uint64_t pair, uint64_t single)
{
	uint64_t key = map_mix(pair) + single;
	uint32_t id = map_get(&p->looks, key);

	if (id == MAP_NONE) {
		id = p->out->nlooks++;
		map_set(&p->looks, key, id);
		MEM_GROW0(p->look, p->look_cap, p->out->nlooks);
	}
	return id;
}

static uint64_t last_of(const struct witnesses *w, uint32_t pair, uint32_t single)
{
	return w->v[pair].e2 > w->v[single].e2 ? w->v[pair].e2 : w->v[single].e2;
}

uint64_t candidate_last(const struct witnesses *w, const struct candidate *c)
{
	return last_of(w, c->pair, c->single);
}

static uint64_t last_kept(const struct pairs *p, const struct look *l, uint32_t i)
{
	return candidate_last(p->w, &p->out->v[l->candidate[i]]);
}

/* Would a candidate that ends with this event be kept? */
static bool is_wanted(const struct pairs *p, const struct look *l, uint64_t last)
{
	return p->all || l->n < PAIRS_TRIES || last < last_kept(p, l, l->worst);
}

static void keep(struct pairs *p, struct candidate c)
{
	struct look *l = &p->look[c.look];

	if (!p->all && l->n == PAIRS_TRIES) {
		p->out->v[l->candidate[l->worst]] = c;
	} else {
		MEM_GROW(p->out->v, p->out->cap, p->out->n + 1);
		p->out->v[p->out->n] = c;
		if (l->n < PAIRS_TRIES)
			l->candidate[l->n++] = p->out->n;
		p->out->n++;
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (last_kept(p, l, i) > last_kept(p, l, l->worst))
			l->worst = i;
}

/* Match members [i, iend) of the pairs with members [k, kend) of the singles: two threads. */
static void match_members(struct pairs *p, size_t i, size_t iend, size_t k, size_t kend)
{
	const struct witnesses *w = p->w;
	uint32_t id = look_number(p, p->pairs.v[i].look, p->singles.v[k].look);
	const struct look *look = &p->look[id];

	/* Members are sorted by event: after one that is too late, all are. */
	for (size_t a = i; a < iend && is_wanted(p, look, p->pairs.v[a].event); a++) {
		const struct witness *x = &w->v[p->pairs.v[a].witness];

		for (size_t b = k; b < kend && is_wanted(p, look, p->singles.v[b].event); b++) {
			const struct witness *y = &w->v[p->singles.v[b].witness];

			if (!is_wanted(p, look, p->pairs.v[a].event))
				return;
			p->out->compared++;
			if (!are_concurrent(p, w->state[x->state].stretch,
					    w->state[y->state].stretch))
				continue;
			keep(p, (struct candidate){p->pairs.v[a].witness, p->singles.v[b].witness,
						   id});
		}
	}
}

/* Match members of two histories that are compatible. */
static void match_looks(struct pairs *p, size_t i, size_t iend, size_t k, size_t kend)
{
	const struct witness *v = p->w->v;
	size_t inext, knext;

	for (; i < iend; i = inext) {
		inext = look_end(&p->pairs, i, iend);
		for (size_t at = k; at < kend; at = knext) {
			knext = look_end(&p->singles, at, kend);
			if (p->pairs.v[i].thread != p->singles.v[at].thread &&
			    conflict(p->w, &v[p->pairs.v[i].witness], &v[p->singles.v[at].witness]))
				match_members(p, i, inext, at, knext);
		}
	}
}

/* Has the limit of comparisons been reached? */
static bool is_enough(const struct pairs *p)
{
	if (p->most && p->out->compared >= p->most)
		p->out->gave_up = true;
	return p->out->gave_up;
}

/* Are the two compatible, as far as locks say? */
static bool are_compatible(struct pairs *p, const struct member *pair, const struct member *single)
{
	p->out->compared++;
	return lockhist_compatible(&p->w->hist, pair->hist, single->hist) &&
	       lockhist_compatible(&p->w->hist, pair->hist, single->took);
}

static void match_histories(struct pairs *p)
{
	size_t iend, kend;

	for (size_t i = 0; i < p->pairs.n; i = iend) {
		iend = p->pairs.v[i].end;
		for (size_t k = 0; k < p->singles.n && !is_enough(p); k = kend) {
			kend = p->singles.v[k].end;
			if (are_compatible(p, &p->pairs.v[i], &p->singles.v[k]))
				match_looks(p, i, iend, k, kend);
		}
	}
}

/* --- many histories --- */

static int by_look(const void *a, const void *b)
{
	const struct cluster *x = a, *y = b;

	if (x->look != y->look)
		return x->look > y->look ? 1 : -1;
	if (x->event != y->event)
		return x->event > y->event ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Returns the clusters of all members; the caller frees them. */
static struct cluster *make_clusters(const struct members *m, size_t *n)
{
	struct cluster *v = mem_alloc(m->n * sizeof *v);
	size_t group_end = 0;

	*n = 0;
	for (size_t i = 0, end; i < m->n; i = end) {
		if (i == group_end)
			group_end = m->v[i].end;
		end = look_end(m, i, group_end);
		v[(*n)++] = (struct cluster){.first = i,
					     .end = end,
					     .look = m->v[i].look,
					     .event = m->v[i].event,
					     .thread = m->v[i].thread};
	}
	qsort(v, *n, sizeof *v, by_look);
	for (size_t i = *n; i-- > 0;)
		v[i].run = 1 + (i + 1 < *n && v[i].thread == v[i + 1].thread ? v[i + 1].run : 0);
	return v;
}

/* Clusters that look the same, and the locks held in all of them. */
struct alike {
	size_t first, n;
	uint32_t held;
};

static struct alike *make_alike(struct pairs *p, const struct members *m, const struct cluster *c,
				size_t n, size_t *count)
{
	struct alike *v = mem_alloc(n * sizeof *v);

	*count = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t hist = m->v[c[i].first].hist;

		if (!i || c[i].look != c[i - 1].look)
			v[(*count)++] = (struct alike){i, 0, hist};
		v[*count - 1].n++;
		v[*count - 1].held = lockhist_both(&p->w->hist, v[*count - 1].held, hist);
	}
	return v;
}

/*
 * Match all of one look with all of another. Clusters of one thread are skipped together: if the
 * threads ran one after the other, there are many before the first of another thread.
 */
static void match_alike(struct pairs *p, const struct cluster *a, size_t na,
			const struct cluster *b, size_t nb)
{
	uint32_t id = look_number(p, a->look, b->look);
	const struct look *look = &p->look[id];
	bool same;

	for (size_t i = 0; i < na && is_wanted(p, look, a[i].event); i++)
		for (size_t k = 0; k < nb && is_wanted(p, look, b[k].event) &&
				   is_wanted(p, look, a[i].event) && !is_enough(p);
		     k += same ? b[k].run : 1) {
			same = a[i].thread == b[k].thread;
			if (!same &&
			    are_compatible(p, &p->pairs.v[a[i].first], &p->singles.v[b[k].first]))
				match_members(p, a[i].first, a[i].end, b[k].first, b[k].end);
		}
}

static void match_many(struct pairs *p)
{
	size_t na, nb, nx, ny;
	struct cluster *a = make_clusters(&p->pairs, &na), *b = make_clusters(&p->singles, &nb);
	struct alike *x = make_alike(p, &p->pairs, a, na, &nx);
	struct alike *y = make_alike(p, &p->singles, b, nb, &ny);

	for (size_t i = 0; i < nx; i++) {
		const struct cluster *pair = &a[x[i].first];

		for (size_t k = 0; k < ny; k++) {
			const struct cluster *single = &b[y[k].first];

			if (conflict(p->w, &p->w->v[p->pairs.v[pair->first].witness],
				     &p->w->v[p->singles.v[single->first].witness]) &&
			    lockhist_compatible(&p->w->hist, x[i].held, y[k].held))
				match_alike(p, pair, x[i].n, single, y[k].n);
		}
	}
	mem_free(a);
	mem_free(b);
	mem_free(x);
	mem_free(y);
}

/* Match the witnesses of an entry and the following ones. */
static void match_all(struct pairs *p, uint32_t first)
{
	if (is_enough(p) || !collect_members(p, first))
		return;
	if (p->pairs.groups > MANY / p->singles.groups)
		match_many(p);
	else
		match_histories(p);
}

/* For the comparison function: qsort() has no argument for it. */
static const struct witnesses *sorted;

static int by_event(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	uint64_t xe = candidate_last(sorted, x), ye = candidate_last(sorted, y);

	if (xe == ye) {
		xe = sorted->v[x->pair].e2;
		ye = sorted->v[y->pair].e2;
	}
	if (xe == ye) {
		xe = sorted->v[x->single].e2;
		ye = sorted->v[y->single].e2;
	}
	if (xe != ye)
		return xe > ye ? 1 : -1;
	/* An update is a read and a write: the same events make another pattern. */
	if (x->pair != y->pair)
		return x->pair > y->pair ? 1 : -1;
	return x->single > y->single ? 1 : -1;
}

void pairs_find(struct witnesses *w, bool all, uint64_t most, struct candidates *out)
{
	struct pairs p = {.w = w, .out = out, .all = all, .most = most};

	if (w->nthreads < 2)
		return;
	order_stretches(&p);
	for (size_t x = 0; x < w->nvars; x++)
		match_all(&p, w->var[x]);
	for (size_t i = 0; w->two && i < w->two->nfirst; i++)
		match_all(&p, w->two->first[i]);
	sorted = w;
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_event);
	mem_free(p.over);
	mem_free(p.pairs.v);
	mem_free(p.singles.v);
	mem_free(p.look);
	map_free(&p.looks);
}
