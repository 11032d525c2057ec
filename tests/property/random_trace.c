#include "random_trace.h"

#include "random_gen.h"

#include "base/banned.h"

static void draw_mix(struct gen *g, unsigned max_length)
{
	struct rng *r = &g->rng;
	struct mix *m = &g->mix;
	unsigned *w = m->weight, forked;

	m->threads = rng_between(r, 2, MAX_THREADS);
	m->vars = rng_between(r, 1, MAX_VARS);
	m->locks = rng_between(r, 0, MAX_LOCKS);
	m->length = rng_between(r, 4, max_length);
	if (rng_percent(r, 40)) /* short traces are faster and easier to understand */
		m->length = rng_between(r, 4, m->length);
	m->depth = rng_between(r, 1, 4);
	m->stay_inside = rng_percent(r, 60) ? rng_between(r, 85, 99) : rng_between(r, 0, 90);
	m->stay_outside = rng_between(r, 0, 90);
	m->own = rng_percent(r, 50) ? 0 : rng_between(r, 0, 95);
	m->shared = rng_percent(r, 50) ? 0 : rng_between(r, 10, 90);
	m->repeat = rng_percent(r, 70) ? 0 : 40;
	m->shape = rng_percent(r, 30) ? 0 : rng_percent(r, 80) ? rng_between(r, 1, 30) : 100;
	m->brawl = 5;
	if (rng_percent(r, 12))
		m->brawl = m->shape = rng_between(r, 70, 100);
	m->noise = rng_percent(r, 50) ? 0 : rng_between(r, 0, 40);
	m->tidy = rng_between(r, 0, 100);

	w[OP_BEGIN] = rng_between(r, 1, 8);
	w[OP_END] = rng_between(r, 1, 12);
	w[OP_READ] = rng_between(r, 1, 20);
	w[OP_WRITE] = rng_between(r, 0, rng_percent(r, 50) ? 4 : 16);
	w[OP_UPDATE] = rng_percent(r, 60) ? 0 : rng_between(r, 1, 6);
	w[OP_ACQUIRE] = rng_between(r, 0, 6);
	w[OP_RELEASE] = w[OP_ACQUIRE] * 3;
	w[OP_FORK] = 2;
	w[OP_JOIN] = rng_percent(r, 60) ? 0 : 1;
	if (rng_percent(r, 20))
		for (int op = OP_WAIT; op < OP_COUNT; op++)
			w[op] = 1;

	/* Many threads, few of them at a time, so that engines reuse the slots of ended threads. */
	if (max_length >= 40 && rng_percent(r, 12)) {
		m->threads = rng_between(r, MAX_THREADS + 1, MAX_CROWD);
		m->length = rng_between(r, 40, max_length);
		m->shape = rng_between(r, 20, 60);
		m->crowd = true;
		forked = rng_percent(r, 70) ? 95 : 30;
		for (unsigned t = 1; t < m->threads; t++)
			g->thread[t].waits_for_fork = rng_percent(r, forked);
		return;
	}
	if (rng_percent(r, 50))
		for (unsigned t = 1; t < m->threads; t++)
			g->thread[t].waits_for_fork = rng_percent(r, 60);
}

void random_trace(struct trace *t, uint64_t seed, unsigned max_length)
{
	struct gen g = {.rng = {seed}, .out = t};
	unsigned idle = 0;

	t->n = 0;
	t->style = (enum trace_style)rng_below(&g.rng, STYLE_COUNT);
	draw_mix(&g, max_length);
	/* If the mix allows hardly any event, give up early: the trace is short. */
	while (!gen_full(&g) && idle < 1000) {
		size_t before = t->n;

		if (rng_percent(&g.rng, g.mix.shape))
			gen_shape(&g);
		else
			gen_turn(&g);
		idle = t->n == before ? idle + 1 : 0;
	}
	trace_canonical(t);
}
