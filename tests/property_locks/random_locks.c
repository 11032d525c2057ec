#include "random_locks.h"

#include "rng.h"

#include "base/banned.h"

enum { THREADS = 12, LOCKS = 6, BARRIERS = 2 };

struct gen {
	struct rng rng;
	struct trace *out;
	unsigned length, threads, locks, vars;
	unsigned shared;      /* percent of acquires */
	unsigned barriers;    /* percent of turns */
	unsigned lives;       /* percent of turns that fork or join */
	unsigned nests;       /* percent of turns that are a nest of locks */
	unsigned rings;       /* percent of turns that are a ring */
	unsigned reads;       /* percent of accesses */
	unsigned crossed;     /* percent of releases out of order */
	unsigned disciplined; /* percent of nests that begin with the variable's own lock */
	bool waits[THREADS], dead[THREADS];
	unsigned depth[THREADS];
	uint8_t held[THREADS][LOCKS]; /* 0, 1 exclusively, 2 shared */
	uint32_t last;
};

static bool is_full(const struct gen *g)
{
	return g->out->n >= g->length;
}

static bool can_run(const struct gen *g, uint32_t t)
{
	return !g->waits[t] && !g->dead[t];
}

static void emit(struct gen *g, uint32_t t, enum op op, uint32_t operand)
{
	if (!is_full(g))
		trace_add(g->out, t, op, operand);
}

static uint32_t pick_thread(struct gen *g)
{
	uint32_t t = g->last;

	if (!can_run(g, t) || rng_percent(&g->rng, 70)) {
		do
			t = rng_below(&g->rng, g->threads);
		while (!can_run(g, t)); /* thread 0 never waits and never dies */
	}
	return g->last = t;
}

static void acquire(struct gen *g, uint32_t t, uint32_t lock)
{
	bool shared = rng_percent(&g->rng, g->shared);

	if (is_full(g))
		return;
	for (uint32_t u = 0; u < g->threads; u++)
		if (g->held[u][lock] && (u == t || !shared || g->held[u][lock] == 1))
			return;
	g->held[t][lock] = shared ? 2 : 1;
	emit(g, t, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
}

static void release(struct gen *g, uint32_t t, uint32_t lock)
{
	if (!g->held[t][lock] || is_full(g))
		return;
	emit(g, t, g->held[t][lock] == 2 ? OP_RELEASE_SHARED : OP_RELEASE, lock);
	g->held[t][lock] = 0;
}

static void access_var(struct gen *g, uint32_t t, uint32_t var)
{
	enum op op = OP_READ;

	if (!rng_percent(&g->rng, g->reads))
		op = rng_percent(&g->rng, 80) ? OP_WRITE : OP_UPDATE;
	emit(g, t, op, var);
}

/* Acquires some locks, accesses memory under them and releases all of them, in one turn. */
static void add_nest(struct gen *g, uint32_t t)
{
	unsigned n = rng_between(&g->rng, 1, 3);
	uint32_t var = rng_below(&g->rng, g->vars), taken[3];

	for (unsigned i = 0; i < n; i++) {
		taken[i] = rng_below(&g->rng, g->locks);
		if (!i && rng_percent(&g->rng, g->disciplined))
			taken[i] = var % g->locks;
		acquire(g, t, taken[i]);
		if (rng_percent(&g->rng, 30))
			access_var(g, t, var);
	}
	access_var(g, t, var);
	for (unsigned i = n; i-- > 0;)
		release(g, t, rng_percent(&g->rng, g->crossed) ? taken[n - 1 - i] : taken[i]);
}

/* Threads acquire locks in a ring, each its own and then its neighbour's: a possible deadlock. */
static void add_ring(struct gen *g)
{
	unsigned n = rng_between(&g->rng, 2, 4), locks = g->locks < n ? g->locks : n;
	uint32_t first = rng_below(&g->rng, g->locks);
	uint32_t gate = rng_below(&g->rng, 4 * g->locks);

	for (unsigned i = 0; i < n; i++) {
		uint32_t t = pick_thread(g), one = (first + i % locks) % g->locks;
		uint32_t two = (first + (i + 1) % locks) % g->locks;

		if (gate < g->locks)
			acquire(g, t, gate);
		acquire(g, t, one);
		acquire(g, t, two);
		release(g, t, two);
		release(g, t, one);
		if (gate < g->locks)
			release(g, t, gate);
	}
}

/* Some of the running threads arrive at a barrier. Their next events come in any order. */
static void add_barriers(struct gen *g)
{
	uint32_t b = g->locks + rng_below(&g->rng, BARRIERS);
	unsigned who = rng_percent(&g->rng, 60) ? 100 : rng_between(&g->rng, 0, 100);

	for (uint32_t t = 0; t < g->threads; t++)
		if (can_run(g, t) && rng_percent(&g->rng, who))
			emit(g, t, OP_BARRIER, b);
}

static void fork_or_join(struct gen *g, uint32_t t)
{
	uint32_t u = rng_below(&g->rng, g->threads);

	if (!u || u == t || is_full(g))
		return;
	if (g->waits[u]) {
		emit(g, t, OP_FORK, u);
		g->waits[u] = false;
		return;
	}
	if (!g->dead[u] || rng_percent(&g->rng, 20)) {
		for (uint32_t l = 0; l < g->locks && !g->dead[u]; l++)
			release(g, u, l);
		if (is_full(g))
			return;
		emit(g, t, OP_JOIN, u);
		g->dead[u] = true;
	}
}

static void add_other(struct gen *g, uint32_t t)
{
	switch (rng_below(&g->rng, 6)) {
	case 0:
		emit(g, t, OP_BEGIN, 0);
		g->depth[t] += !is_full(g);
		break;
	case 1:
		if (g->depth[t] && !is_full(g)) {
			emit(g, t, OP_END, 0);
			g->depth[t]--;
		}
		break;
	case 2:
		if (rng_percent(&g->rng, 30))
			emit(g, t, rng_percent(&g->rng, 50) ? OP_ALLOC : OP_FREE,
			     rng_below(&g->rng, g->vars));
		break;
	case 3:
		emit(g, t, OP_NONE, 0);
		break;
	default:
		release(g, t, rng_below(&g->rng, g->locks));
	}
}

static void add_turn(struct gen *g)
{
	uint32_t t = pick_thread(g);

	if (rng_percent(&g->rng, g->lives))
		fork_or_join(g, t);
	else if (rng_percent(&g->rng, g->barriers))
		add_barriers(g);
	else if (rng_percent(&g->rng, g->rings))
		add_ring(g);
	else if (rng_percent(&g->rng, g->nests))
		add_nest(g, t);
	else if (rng_percent(&g->rng, 40))
		access_var(g, t, rng_below(&g->rng, g->vars));
	else if (rng_percent(&g->rng, 40))
		acquire(g, t, rng_below(&g->rng, g->locks));
	else
		add_other(g, t);
}

void random_locks(struct trace *t, uint64_t seed, unsigned max_length)
{
	struct gen g = {.rng = {seed}, .out = t};
	struct rng *r = &g.rng;
	unsigned idle = 0;

	t->n = 0;
	t->style = (enum trace_style)rng_below(r, STYLE_COUNT);
	g.length = rng_between(r, 4, max_length);
	g.threads = rng_percent(r, 80) ? rng_between(r, 2, 5) : rng_between(r, 6, THREADS);
	g.locks = rng_between(r, 1, LOCKS);
	g.vars = rng_between(r, 1, 3);
	g.shared = rng_percent(r, 50) ? 0 : rng_between(r, 10, 80);
	g.barriers = rng_percent(r, 60) ? 0 : rng_between(r, 2, 20);
	g.lives = rng_percent(r, 30) ? 0 : rng_between(r, 3, 30);
	g.nests = rng_between(r, 0, 90);
	g.rings = rng_percent(r, 50) ? 0 : rng_between(r, 5, 40);
	g.reads = rng_between(r, 10, 90);
	g.crossed = rng_percent(r, 60) ? 0 : 50;
	g.disciplined = rng_percent(r, 50) ? 0 : rng_between(r, 60, 100);
	if (g.lives)
		for (unsigned u = 1; u < g.threads; u++)
			g.waits[u] = rng_percent(r, 70);
	while (!is_full(&g) && idle < 1000) {
		size_t n = t->n;

		add_turn(&g);
		idle = t->n == n ? idle + 1 : 0;
	}
	trace_canonical(t);
}
