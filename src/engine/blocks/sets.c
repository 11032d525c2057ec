#include "engine/blocks/sets.h"

#include <stdlib.h>

#include "base/mem.h"

#include "base/banned.h"

enum { STEPS_MAX = 50 * 1000 * 1000 };

/* An initial read or a final write; outside blocks any access. */
struct end {
	uint32_t life, segment, op, thread;
	uint8_t kind;
	heldset held;
};

/* A thread's part of a cycle. Its operations are in one segment, or `in` is in an earlier one. */
struct part {
	const struct end *in, *out;
	heldset across, used; /* locks held throughout, or at some point, between the two */
};

struct search {
	struct blocks_sets *sets;
	struct segments *u;
	struct end *end; /* by life */
	uint32_t n, *first;
	const struct end **by_thread; /* the same ends, by thread */
	uint32_t *first_of_thread;
	struct part part[BLOCKS_CYCLE];
	uint32_t nparts, most;
	uint8_t left[BLOCKS_CYCLE]; /* operations of a part that are still to come */
	uint32_t opened[BLOCKS_CYCLE];
	struct blocks_cycle found;
};

static bool effort_is_used_up(struct search *s)
{
	s->sets->cut_short |= ++s->sets->steps > STEPS_MAX;
	return s->sets->cut_short;
}

static int by_life(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->life != y->life)
		return x->life < y->life ? -1 : 1;
	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->op < y->op ? -1 : 1;
}

static int by_thread(const void *a, const void *b)
{
	const struct end *x = *(const struct end *const *)a, *y = *(const struct end *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x < y ? -1 : 1;
}

static void collect_ends(struct search *s)
{
	struct blocks_walk walk = {0};
	uint32_t threads = 0, at = 0;
	size_t cap = 0;

	for (size_t i = 0; i < s->u->n; i++) {
		const struct segment *t = &s->u->segment[i];

		threads = t->thread >= threads ? t->thread + 1 : threads;
		blocks_walk(&walk, s->u, t);
		for (uint32_t k = 0; k < walk.npoints; k++) {
			const struct blocks_point *p = &walk.point[k];

			if (!(p->kind & (BLOCKS_INITIAL | BLOCKS_FINAL)))
				continue;
			MEM_GROW(s->end, cap, (size_t)s->n + 1);
			s->end[s->n++] = (struct end){p->life,   (uint32_t)i, p->op,
						      t->thread, p->kind,     p->held};
		}
	}
	blocks_walk_free(&walk);
	if (s->n)
		qsort(s->end, s->n, sizeof *s->end, by_life);
	s->first = mem_zalloc(((size_t)s->u->contention.nlives + 1) * sizeof *s->first);
	for (uint32_t l = 0; l <= s->u->contention.nlives; l++) {
		while (at < s->n && s->end[at].life < l)
			at++;
		s->first[l] = at;
	}
	s->by_thread = mem_alloc(((size_t)s->n + 1) * sizeof *s->by_thread);
	for (uint32_t i = 0; i < s->n; i++)
		s->by_thread[i] = &s->end[i];
	if (s->n)
		qsort(s->by_thread, s->n, sizeof *s->by_thread, by_thread);
	s->first_of_thread = mem_zalloc(((size_t)threads + 1) * sizeof *s->first_of_thread);
	at = 0;
	for (uint32_t t = 0; t <= threads; t++) {
		while (at < s->n && s->by_thread[at]->thread < t)
			at++;
		s->first_of_thread[t] = at;
	}
}

static const struct segment *segment_of(const struct search *s, const struct end *e)
{
	return &s->u->segment[e->segment];
}

static bool is_before(const struct search *s, const struct end *a, const struct end *b)
{
	uint32_t p = segment_of(s, a)->phase, q = segment_of(s, b)->phase;

	return p != q && phase_before(s->u->phase[p].at, &s->u->phase[q].clock);
}

static bool are_concurrent(const struct search *s, const struct end *a, const struct end *b)
{
	return segments_concurrent(s->u, segment_of(s, a)->phase, segment_of(s, b)->phase);
}

/* Can a thread that entered at `in` leave at `out`? */
static bool can_leave(const struct search *s, const struct end *in, const struct end *out)
{
	const struct segment *a = segment_of(s, in), *b = segment_of(s, out);

	if (in->segment == out->segment)
		return a->transaction || in->op <= out->op;
	if (a->phase != b->phase)
		return is_before(s, in, out);
	/* A segment that ran several times may have run before and after the other. */
	return a->times > 1 || b->times > 1 || a->begin < b->begin;
}

static struct part make_part(const struct search *s, const struct end *in, const struct end *out)
{
	struct part p = {.in = in, .out = out};
	uint32_t from = in->op < out->op ? in->op : out->op;
	uint32_t to = in->op < out->op ? out->op : in->op;
	const struct segment_op *op = segment_ops(s->u, segment_of(s, in));

	if (in->segment != out->segment) {
		p.used = heldlocks_union(&s->u->held, in->held, out->held);
		return p;
	}
	p.across = op[from].held;
	for (uint32_t i = from + 1; i <= to; i++)
		p.across = heldlocks_common(&s->u->held, p.across, op[i].held);
	p.used = blocks_walk_used(s->u, segment_of(s, in), from, to);
	return p;
}

/* Returns the operation of a part that comes first, or second, in its thread. */
static const struct end *part_end(const struct part *p, int second)
{
	bool in_first = p->in->segment != p->out->segment || p->in->op <= p->out->op;

	return second == in_first ? p->out : p->in;
}

/* Is an operation still to come that must come before this one? */
static bool too_early(const struct search *s, uint32_t i, const struct end *e)
{
	const struct part *previous = &s->part[(i + s->nparts - 1) % s->nparts];

	for (uint32_t k = 0; k < s->nparts; k++)
		for (int m = 2 - s->left[k]; m < 2; m++)
			if (k != i && (is_before(s, part_end(&s->part[k], m), e) ||
				       (e == s->part[i].in && &s->part[k] == previous &&
					part_end(&s->part[k], m) == previous->out)))
				return true;
	return false;
}

/* Do the locks of the parts that are between their two operations allow it? */
static bool locks_allow(const struct search *s, uint32_t i, const struct end *e, bool second)
{
	for (uint32_t k = 0; k < s->nparts; k++) {
		if (k == i || s->left[k] != 1)
			continue;
		if (heldlocks_exclude(&s->u->held, s->part[k].across, e->held))
			return false;
		if (second && s->opened[k] < s->opened[i] &&
		    heldlocks_exclude(&s->u->held, s->part[k].across, s->part[i].used))
			return false;
	}
	return true;
}

/* Put the operations of all parts into an order; those in found.step are done. */
static bool order_steps(struct search *s)
{
	bool done = true;

	for (uint32_t i = 0; i < s->nparts; i++) {
		bool single = s->part[i].in == s->part[i].out, second = s->left[i] == 1;
		const struct end *e = part_end(&s->part[i], second);
		uint8_t left = s->left[i];

		if (!left)
			continue;
		done = false;
		if (effort_is_used_up(s))
			return true; /* the budget is used up: do not claim that there is none */
		if (too_early(s, i, e) || !locks_allow(s, i, e, second && !single))
			continue;
		s->left[i] = single ? 0 : (uint8_t)(left - 1);
		if (!second)
			s->opened[i] = s->found.nsteps;
		s->found.step[s->found.nsteps++] = (struct blocks_step){e->segment, e->op};
		if (order_steps(s))
			return true;
		s->found.nsteps--;
		s->left[i] = left;
	}
	return done;
}

static bool is_cycle(struct search *s)
{
	s->found.n = s->nparts;
	s->found.nsteps = 0;
	for (uint32_t i = 0; i < s->nparts; i++) {
		s->left[i] = 2;
		s->found.part[i] = (struct blocks_part){s->part[i].in->segment, s->part[i].in->op,
							s->part[i].out->op};
	}
	return order_steps(s) && !s->sets->cut_short;
}

static bool has_visited(const struct search *s, uint32_t thread)
{
	for (uint32_t i = 0; i < s->nparts; i++)
		if (s->part[i].in->thread == thread)
			return true;
	return false;
}

/* Extend the cycle from the last part back to the first, with at most `most` parts. */
static bool extend_cycle(struct search *s)
{
	const struct end *from = s->part[s->nparts - 1].out, *to = s->part[0].in;

	if (s->nparts > 1 && s->nparts == s->most)
		return from->life == to->life && blocks_conflict(from->kind, to->kind) &&
		       are_concurrent(s, from, to) && is_cycle(s);
	for (uint32_t i = s->first[from->life]; i < s->first[from->life + 1]; i++) {
		const struct end *in = &s->end[i];

		if (effort_is_used_up(s))
			return false;
		if (!blocks_conflict(from->kind, in->kind) || has_visited(s, in->thread) ||
		    !are_concurrent(s, from, in))
			continue;
		for (uint32_t k = s->first_of_thread[in->thread];
		     k < s->first_of_thread[in->thread + 1]; k++) {
			const struct end *out = s->by_thread[k];

			if (effort_is_used_up(s))
				return false;
			/* The last part must lead to the first; two segments alone are a pair. */
			if ((s->nparts + 1 == s->most && out->life != to->life) ||
			    (s->most == 2 && out->segment == in->segment) || !can_leave(s, in, out))
				continue;
			s->part[s->nparts++] = make_part(s, in, out);
			if (extend_cycle(s))
				return true;
			s->nparts--;
		}
	}
	return false;
}

/* Find a cycle that cuts this segment. */
static bool cut_segment(struct search *s, uint32_t segment)
{
	uint32_t thread = s->u->segment[segment].thread;
	uint32_t from = s->first_of_thread[thread], to = s->first_of_thread[thread + 1];

	for (s->most = 2; s->most <= BLOCKS_CYCLE; s->most++) {
		for (uint32_t i = from; i < to; i++) {
			const struct end *out = s->by_thread[i];

			for (uint32_t k = from; k < to && out->segment == segment; k++) {
				const struct end *in = s->by_thread[k];

				if (in->segment != segment || in->op <= out->op)
					continue;
				s->part[0] = make_part(s, in, out);
				s->nparts = 1;
				if (extend_cycle(s))
					return true;
				if (s->sets->cut_short)
					return false;
			}
		}
	}
	return false;
}

void blocks_sets_find(struct blocks_sets *sets, struct segments *u, const bool *bad,
		      void (*found)(void *arg, const struct blocks_cycle *c), void *arg)
{
	struct search s = {.sets = sets, .u = u};

	collect_ends(&s);
	for (size_t i = 0; i < u->n && s.n && !sets->cut_short; i++)
		if (u->segment[i].transaction && !bad[i] && cut_segment(&s, (uint32_t)i))
			found(arg, &s.found);
	mem_free(s.end);
	mem_free(s.first);
	mem_free(s.by_thread);
	mem_free(s.first_of_thread);
}
