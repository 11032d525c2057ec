#include "random_predict.h"

#include "rng.h"

#include "base/banned.h"

enum { THREADS = 4, SCRIPT = 14, LOCKS = 3, FLAG = 2 };

/* Drawn once a seed. */
struct mix {
	unsigned threads, vars, locks, length;
	bool ordered;  /* whether locks are acquired in the order of their numbers */
	bool unnested; /* whether locks are released in any order */
	bool forks;
	bool copies;          /* whether all threads have one script */
	bool syncs;           /* barriers, wait, notify */
	unsigned shared;      /* percent of acquires that are shared */
	unsigned update;      /* percent of accesses that are updates */
	unsigned write;       /* percent of the others that are writes */
	unsigned block, lock; /* percent of turns */
	unsigned known;       /* percent of accesses whose value is known */
	unsigned flags; /* percent of scripts that begin with a read of a flag; that end with a
			   write of it */
};

struct script {
	enum op op[2 * SCRIPT + 10];
	uint32_t operand[2 * SCRIPT + 10];
	unsigned n, next;
	bool started;
};

struct random {
	struct rng rng;
	struct mix mix;
	struct script script[THREADS];
	int held[THREADS][LOCKS]; /* 0, 1 exclusive, 2 shared: while running */
	uint8_t number[FLAG + 1]; /* of a variable: while running */
};

static void add_event(struct script *s, enum op op, uint32_t operand)
{
	s->op[s->n] = op;
	s->operand[s->n++] = operand;
}

static void add_access(struct random *r, struct script *s)
{
	uint32_t var = rng_below(&r->rng, r->mix.vars);

	if (rng_percent(&r->rng, r->mix.update))
		add_event(s, OP_UPDATE, var);
	else
		add_event(s, rng_percent(&r->rng, r->mix.write) ? OP_WRITE : OP_READ, var);
}

/* The locks held at the current end of a script, in the order of their acquisition. */
struct open {
	uint32_t lock[LOCKS];
	bool shared[LOCKS];
	unsigned n;
	bool block;
};

static void add_release(struct random *r, struct script *s, struct open *o)
{
	unsigned i = r->mix.unnested ? rng_below(&r->rng, o->n) : o->n - 1;

	add_event(s, o->shared[i] ? OP_RELEASE_SHARED : OP_RELEASE, o->lock[i]);
	for (o->n--; i < o->n; i++) {
		o->lock[i] = o->lock[i + 1];
		o->shared[i] = o->shared[i + 1];
	}
}

static void add_acquire(struct random *r, struct script *s, struct open *o)
{
	uint32_t lock = rng_below(&r->rng, r->mix.locks);
	bool shared = rng_percent(&r->rng, r->mix.shared);

	for (unsigned i = 0; i < o->n; i++)
		if (o->lock[i] == lock || (r->mix.ordered && o->lock[i] > lock))
			return;
	o->lock[o->n] = lock;
	o->shared[o->n++] = shared;
	add_event(s, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
}

static void write_script(struct random *r, uint32_t t)
{
	struct script *s = &r->script[t];
	unsigned length = rng_between(&r->rng, 2, r->mix.length);
	struct open o = {0};

	if (rng_percent(&r->rng, r->mix.flags))
		add_event(s, OP_READ, FLAG);
	if (rng_percent(&r->rng, 50)) {
		add_event(s, OP_BEGIN, 0);
		o.block = true;
	}

	while (s->n < length) {
		if (rng_percent(&r->rng, r->mix.block)) {
			add_event(s, o.block ? OP_END : OP_BEGIN, 0);
			o.block = !o.block;
		} else if (r->mix.locks && rng_percent(&r->rng, r->mix.lock)) {
			if (o.n && rng_percent(&r->rng, 50))
				add_release(r, s, &o);
			else
				add_acquire(r, s, &o);
		} else if (r->mix.syncs && rng_percent(&r->rng, 15)) {
			unsigned which = rng_below(&r->rng, 3);

			add_event(s,
				  which == 0   ? OP_BARRIER
				  : which == 1 ? OP_WAIT
					       : OP_NOTIFY,
				  LOCKS);
		} else {
			add_access(r, s);
		}
	}
	/* Mostly all blocks end and all locks are released, nested or not. */
	while (o.n && rng_percent(&r->rng, 90))
		add_release(r, s, &o);
	if (o.block && rng_percent(&r->rng, 80))
		add_event(s, OP_END, 0);
	if (rng_percent(&r->rng, r->mix.flags))
		add_event(s, rng_percent(&r->rng, 80) ? OP_WRITE : OP_UPDATE, FLAG);
}

/* Adds forks of some other threads to T0's script, and later joins of some. */
static void add_forks(struct random *r)
{
	struct script *s = &r->script[0], out = {.started = true};
	unsigned at[THREADS] = {0}, join[THREADS] = {0};

	for (uint32_t t = 1; t < r->mix.threads; t++) {
		at[t] = rng_below(&r->rng, s->n + 1);
		join[t] = rng_percent(&r->rng, 50) ? rng_between(&r->rng, at[t], s->n) : s->n + 1;
	}
	for (unsigned i = 0; i <= s->n; i++) {
		for (uint32_t t = 1; t < r->mix.threads; t++) {
			if (at[t] == i)
				add_event(&out, OP_FORK, t);
			if (join[t] == i)
				add_event(&out, OP_JOIN, t);
		}
		if (i < s->n)
			add_event(&out, s->op[i], s->operand[i]);
	}
	*s = out;
}

static bool can_run(const struct random *r, uint32_t t)
{
	const struct script *s = &r->script[t];
	enum op op;

	if (!s->started || s->next == s->n)
		return false;
	op = s->op[s->next];
	if (op == OP_JOIN)
		return r->script[s->operand[s->next]].next == r->script[s->operand[s->next]].n;
	if (op != OP_ACQUIRE && op != OP_ACQUIRE_SHARED)
		return true;
	for (uint32_t u = 0; u < THREADS; u++) {
		int held = r->held[u][s->operand[s->next]];

		if (held == 1 || (held && op == OP_ACQUIRE))
			return false;
	}
	return true;
}

static void run_scripts(struct random *r, uint32_t t, struct trace *out)
{
	struct script *s = &r->script[t];
	enum op op = s->op[s->next];
	uint32_t operand = s->operand[s->next++];

	if (op == OP_FORK)
		r->script[operand].started = true;
	if (op == OP_ACQUIRE || op == OP_ACQUIRE_SHARED)
		r->held[t][operand] = op == OP_ACQUIRE ? 1 : 2;
	if (op == OP_RELEASE || op == OP_RELEASE_SHARED)
		r->held[t][operand] = 0;
	trace_add(out, t, op, operand);
	if (!op_is_access(op))
		return;
	if (op != OP_READ)
		r->number[operand] = (uint8_t)rng_below(&r->rng, 2);
	/* Plain writes are recorded without their value. */
	if (rng_percent(&r->rng, op == OP_WRITE ? r->mix.known / 4 : r->mix.known))
		out->ev[out->n - 1].value = event_value(r->number[operand], 4);
}

static void draw_mix(struct random *r)
{
	struct rng *g = &r->rng;
	struct mix *m = &r->mix;

	m->threads = rng_percent(g, 60) ? 2 : rng_percent(g, 75) ? 3 : 4;
	m->vars = rng_between(g, 1, 2);
	m->locks = rng_percent(g, 10) ? 0 : rng_between(g, 1, LOCKS);
	m->length = m->threads == 2 ? 12 : m->threads == 3 ? 8 : 5;
	m->ordered = rng_percent(g, 60);
	m->unnested = rng_percent(g, 25);
	m->forks = rng_percent(g, 30);
	m->copies = rng_percent(g, 25);
	m->syncs = rng_percent(g, 10);
	m->shared = rng_percent(g, 60) ? 0 : 40;
	m->update = rng_percent(g, 60) ? 0 : 25;
	m->write = rng_between(g, 20, 80);
	m->block = rng_between(g, 3, 20);
	m->lock = rng_between(g, 30, 65);
	m->flags = rng_percent(g, 60) ? 0 : 40;
	m->known = rng_percent(g, 60) ? 0 : rng_between(g, 20, 100);
}

void random_predict(struct trace *t, uint64_t seed)
{
	struct random r = {.rng = {seed}};
	uint32_t last = 0;
	unsigned stay;

	t->n = 0;
	t->style = (enum trace_style)rng_below(&r.rng, STYLE_COUNT + 1);
	draw_mix(&r);
	if (r.mix.copies && rng_percent(&r.rng, 70))
		t->style = STYLE_SAME;
	for (uint32_t u = 0; u < r.mix.threads; u++) {
		if (u && r.mix.copies)
			r.script[u] = r.script[0];
		else
			write_script(&r, u);
		r.script[u].started = !u || !r.mix.forks;
	}
	if (r.mix.forks)
		add_forks(&r);
	stay = rng_between(&r.rng, 20, 95);
	for (;;) {
		bool any = false;

		for (uint32_t u = 0; u < r.mix.threads; u++)
			any |= can_run(&r, u);
		if (!any)
			break;
		if (!can_run(&r, last) || !rng_percent(&r.rng, stay))
			last = rng_below(&r.rng, r.mix.threads);
		if (can_run(&r, last))
			run_scripts(&r, last, t);
	}
	trace_canonical(t);
}
