#include "random_segments.h"

#include <string.h>

#include "rng.h"

#include "base/banned.h"

enum { THREADS = 6, LOCKS = 3, EVENTS = 64 };

struct program {
	struct {
		enum op op;
		uint32_t operand;
	} ev[EVENTS];
	size_t n, at;
};

struct gen {
	struct rng rng;
	enum random_segments what;
	struct program thread[THREADS];
	unsigned nthreads, locks, vars;
	unsigned reads, updates, shared, locked, crossed, ordered;
	int left; /* number of operations that the current part of the thread may still have */
};

static void emit(struct program *p, enum op op, uint32_t operand)
{
	p->ev[p->n].op = op;
	p->ev[p->n++].operand = operand;
}

static void access_var(struct gen *g, struct program *p)
{
	enum op op = rng_percent(&g->rng, g->updates) ? OP_UPDATE
		     : rng_percent(&g->rng, g->reads) ? OP_READ
						      : OP_WRITE;

	emit(p, op, rng_below(&g->rng, g->vars));
	g->left--;
}

/*
 * Adds some accesses and nested lock blocks. `held`: the locks held (0: not, 1: exclusively, 2:
 * shared). `lowest`: the lowest lock that may be acquired.
 */
static void add_body(struct gen *g, struct program *p, uint8_t *held, unsigned lowest,
		     unsigned depth)
{
	unsigned n = rng_between(&g->rng, 1, 3);

	for (unsigned i = 0; i < n && g->left > 0; i++) {
		unsigned lock = rng_below(&g->rng, g->locks);

		if (depth < 3 && lock >= lowest && !held[lock] && rng_percent(&g->rng, g->locked)) {
			bool shared = rng_percent(&g->rng, g->shared);
			uint32_t crossed = 0;

			held[lock] = shared ? 2 : 1;
			g->left--;
			emit(p, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
			add_body(g, p, held, g->ordered ? lock + 1 : 0, depth + 1);
			/* Hand over hand: acquire another lock before releasing this one. */
			while (crossed < g->locks && (held[crossed] || crossed == lock))
				crossed++;
			if (rng_percent(&g->rng, g->crossed) && crossed < g->locks && g->left > 1) {
				emit(p, OP_ACQUIRE, crossed);
				emit(p, shared ? OP_RELEASE_SHARED : OP_RELEASE, lock);
				held[lock] = 0;
				held[crossed] = 1;
				g->left--;
				add_body(g, p, held, 0, depth + 1);
				emit(p, OP_RELEASE, crossed);
				held[crossed] = 0;
				continue;
			}
			emit(p, shared ? OP_RELEASE_SHARED : OP_RELEASE, lock);
			held[lock] = 0;
		} else {
			access_var(g, p);
		}
	}
}

static void add_transaction(struct gen *g, struct program *p, int length)
{
	uint8_t held[LOCKS] = {0};

	g->left = length;
	emit(p, OP_BEGIN, 0);
	while (g->left > 0)
		add_body(g, p, held, 0, 0);
	emit(p, OP_END, 0);
}

static void write_mixture(struct gen *g)
{
	bool forks = g->nthreads > 2 && rng_percent(&g->rng, 30);
	int budget = g->nthreads == 2 ? 5 : g->nthreads == 3 ? 4 : 3;

	for (unsigned i = 0; i < g->nthreads; i++) {
		struct program *p = &g->thread[i];
		int left = (int)rng_between(&g->rng, 1, (unsigned)budget);

		if (forks && i == 0 && rng_percent(&g->rng, 50))
			emit(p, OP_FORK, g->nthreads - 1);
		while (left > 0) {
			int n = (int)rng_between(&g->rng, 1, (unsigned)left);

			if (rng_percent(&g->rng, 75)) {
				add_transaction(g, p, n);
			} else {
				uint8_t held[LOCKS] = {0};

				g->left = n;
				add_body(g, p, held, 0, 0);
			}
			left -= n;
			if (forks && i == 0 && left <= 1 && p->ev[0].op != OP_FORK) {
				emit(p, OP_FORK, g->nthreads - 1);
				forks = false;
			}
		}
		if (i == 0 && rng_percent(&g->rng, 20) && g->nthreads > 2) {
			emit(p, OP_JOIN, 1);
			add_transaction(g, p, 1);
		}
	}
}

/*
 * Chooses the variables again, mostly from more of them: otherwise all threads conflict. Sometimes
 * also turns most reads into writes.
 */
static void choose_vars(struct gen *g)
{
	unsigned vars = g->vars + (rng_percent(&g->rng, 70) ? 3 : 0);
	unsigned few_reads = rng_percent(&g->rng, 30) ? 80 : 0;

	for (unsigned i = 0; i < g->nthreads; i++)
		for (size_t k = 0; k < g->thread[i].n; k++) {
			if (!op_is_access(g->thread[i].ev[k].op))
				continue;
			g->thread[i].ev[k].operand = rng_below(&g->rng, vars);
			if (rng_percent(&g->rng, few_reads))
				g->thread[i].ev[k].op = OP_WRITE;
		}
}

static bool can_go(const uint8_t held[THREADS][LOCKS], const struct gen *g, unsigned t,
		   const bool *forked)
{
	const struct program *p = &g->thread[t];
	enum op op = p->ev[p->at].op;
	uint32_t operand = p->ev[p->at].operand;

	for (unsigned i = 0; i < g->nthreads && !forked[t]; i++)
		for (size_t k = 0; k < g->thread[i].n; k++)
			if (g->thread[i].ev[k].op == OP_FORK && g->thread[i].ev[k].operand == t)
				return false;
	if (op == OP_JOIN)
		return g->thread[operand].at == g->thread[operand].n;
	for (unsigned i = 0; i < g->nthreads; i++)
		if (((op == OP_ACQUIRE && held[i][operand]) ||
		     (op == OP_ACQUIRE_SHARED && held[i][operand] == 1)))
			return false;
	return true;
}

/* Runs the threads in a random order. Returns false if the run deadlocks. */
static bool interleave(struct gen *g, struct trace *t, bool serial)
{
	uint8_t held[THREADS][LOCKS] = {{0}};
	bool forked[THREADS] = {false};
	unsigned last = 0;

	t->n = 0;
	for (unsigned i = 0; i < g->nthreads; i++)
		g->thread[i].at = 0;
	for (;;) {
		unsigned can[THREADS], n = 0, who;
		bool left = false, again = false;
		struct program *p;

		for (unsigned i = 0; i < g->nthreads; i++) {
			if (g->thread[i].at == g->thread[i].n)
				continue;
			left = true;
			if (can_go(held, g, i, forked)) {
				again |= i == last;
				can[n++] = i;
			}
		}
		if (!n)
			return !left;
		who = again && serial ? last : can[rng_below(&g->rng, n)];
		last = who;
		p = &g->thread[who];
		trace_add(t, who, p->ev[p->at].op, p->ev[p->at].operand);
		if (p->ev[p->at].op == OP_FORK)
			forked[p->ev[p->at].operand] = true;
		if (op_is_lock(p->ev[p->at].op))
			held[who][p->ev[p->at].operand] = p->ev[p->at].op == OP_ACQUIRE ? 1
							  : p->ev[p->at].op == OP_ACQUIRE_SHARED
								  ? 2
								  : 0;
		p->at++;
	}
}

void random_segments(struct trace *t, uint64_t seed, enum random_segments what)
{
	bool done = false;

	for (uint64_t attempt = 0; !done; attempt++) {
		struct gen g = {.rng = {seed * 0x10001 + attempt * 0x5bd1e995}, .what = what};

		g.locks = rng_between(&g.rng, 1, LOCKS);
		g.vars = rng_between(&g.rng, 1, 3);
		g.reads = rng_between(&g.rng, 30, 80);
		g.updates = rng_percent(&g.rng, 25) ? 20 : 0;
		g.shared = rng_percent(&g.rng, 30) ? 40 : 0;
		g.locked = rng_between(&g.rng, 20, 70);
		g.ordered = what == RANDOM_TREES || rng_percent(&g.rng, 60);
		if (what == RANDOM_PAIR) {
			g.nthreads = 2;
			add_transaction(&g, &g.thread[0], (int)rng_between(&g.rng, 1, 6));
			add_transaction(&g, &g.thread[1], (int)rng_between(&g.rng, 1, 5));
		} else if (what == RANDOM_TREES) {
			g.nthreads = rng_between(&g.rng, 2, THREADS);
			for (unsigned i = 0; i < g.nthreads; i++)
				add_transaction(&g, &g.thread[i], (int)rng_between(&g.rng, 1, 8));
			choose_vars(&g);
		} else {
			g.nthreads = rng_between(&g.rng, 2, 4);
			g.crossed = rng_percent(&g.rng, 25) ? 40 : 0;
			write_mixture(&g);
		}
		done = interleave(&g, t, rng_percent(&g.rng, 50));
	}
	t->style = (enum trace_style)(seed % STYLE_COUNT);
	trace_canonical(t);
}
