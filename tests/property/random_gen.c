#include "random_gen.h"

#include "base/banned.h"

uint32_t gen_thread(struct gen *g)
{
	uint32_t t;

	do
		t = rng_below(&g->rng, g->mix.threads);
	while (!gen_runs(g, t)); /* thread 0 never dies and is never forked */
	return t;
}

static void acquire(struct gen *g, uint32_t t, uint32_t lock, bool shared)
{
	struct gen_thread *me = &g->thread[t];

	if (me->held[lock]) {
		me->held[lock]++;
		trace_add(g->out, t, OP_NONE, 0); /* as a reader drops a repeat */
		return;
	}
	for (uint32_t u = 0; u < g->mix.threads; u++)
		if (g->thread[u].held[lock] && !(shared && g->thread[u].shared[lock]))
			return;
	me->held[lock] = 1;
	me->shared[lock] = shared;
	trace_add(g->out, t, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
}

static void release(struct gen *g, uint32_t t, uint32_t lock)
{
	struct gen_thread *me = &g->thread[t];

	if (!me->held[lock])
		return;
	if (--me->held[lock])
		trace_add(g->out, t, OP_NONE, 0);
	else
		trace_add(g->out, t, me->shared[lock] ? OP_RELEASE_SHARED : OP_RELEASE, lock);
}

void gen_emit(struct gen *g, uint32_t t, enum op op, uint32_t operand)
{
	struct gen_thread *me = &g->thread[t];

	if (gen_full(g) || !gen_runs(g, t))
		return;
	switch (op) {
	case OP_BEGIN:
		if (me->depth == g->mix.depth)
			return;
		me->depth++;
		break;
	case OP_END:
		if (!me->depth)
			return;
		me->depth--;
		break;
	case OP_ACQUIRE:
	case OP_ACQUIRE_SHARED:
		if (operand < g->mix.locks)
			acquire(g, t, operand, op == OP_ACQUIRE_SHARED);
		return;
	case OP_RELEASE:
	case OP_RELEASE_SHARED:
		if (operand < g->mix.locks)
			release(g, t, operand);
		return;
	default:
		break;
	}
	trace_add(g->out, t, op, operand);
}

void gen_leave(struct gen *g, uint32_t t)
{
	while (g->thread[t].depth && gen_runs(g, t) && !gen_full(g))
		gen_emit(g, t, OP_END, 0);
}

uint32_t gen_next_child(const struct gen *g)
{
	uint32_t u = 0;

	while (u < g->mix.threads && !g->thread[u].waits_for_fork)
		u++;
	return u;
}

void gen_fork(struct gen *g, uint32_t t)
{
	uint32_t u = gen_next_child(g);

	if (u == g->mix.threads || gen_full(g) || !gen_runs(g, t))
		return;
	gen_emit(g, t, OP_FORK, u);
	g->thread[u].waits_for_fork = false;
}

void gen_join(struct gen *g, uint32_t t, uint32_t child)
{
	/* Thread 0 is never joined, so that there is always a thread that runs. */
	if (!child || child == t || gen_full(g) || !gen_runs(g, t) ||
	    g->thread[child].waits_for_fork)
		return;
	g->thread[child].dead = true;
	gen_emit(g, t, OP_JOIN, child);
}

/* Thread t joins a random thread, which may still have open blocks and held locks. */
static void join_random(struct gen *g, uint32_t t)
{
	uint32_t u = rng_below(&g->rng, g->mix.threads);

	if (u == 0 || u == t || g->thread[u].waits_for_fork)
		return;
	if (!g->thread[u].dead && rng_percent(&g->rng, g->mix.tidy)) {
		for (uint32_t l = 0; l < g->mix.locks; l++)
			while (g->thread[u].held[l] && !gen_full(g))
				gen_emit(g, u, OP_RELEASE, l);
		gen_leave(g, u);
	}
	gen_join(g, t, u);
}

uint32_t gen_var(struct gen *g, uint32_t t)
{
	if (rng_percent(&g->rng, g->mix.own))
		return t % g->mix.vars;
	return rng_below(&g->rng, g->mix.vars);
}

void gen_access(struct gen *g, uint32_t t, unsigned reads)
{
	enum op op = rng_percent(&g->rng, reads) ? OP_READ : OP_WRITE;

	gen_emit(g, t, op, gen_var(g, t));
}

static void acquire_random(struct gen *g, uint32_t t)
{
	uint32_t lock;

	if (!g->mix.locks)
		return;
	lock = rng_below(&g->rng, g->mix.locks);
	if (g->thread[t].held[lock] && !rng_percent(&g->rng, g->mix.repeat))
		return;
	gen_emit(g, t, rng_percent(&g->rng, g->mix.shared) ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
}

static void add_random_op(struct gen *g, uint32_t t)
{
	unsigned total = 0, pick;
	int op = 0;

	for (int i = 0; i < OP_COUNT; i++)
		total += g->mix.weight[i];
	pick = rng_below(&g->rng, total);
	while (pick >= g->mix.weight[op])
		pick -= g->mix.weight[op++];
	switch (op) {
	case OP_READ:
	case OP_WRITE:
	case OP_UPDATE:
	case OP_ALLOC:
	case OP_FREE:
		gen_emit(g, t, (enum op)op, gen_var(g, t));
		break;
	case OP_ACQUIRE:
		acquire_random(g, t);
		break;
	case OP_RELEASE:
		gen_emit(g, t, OP_RELEASE, g->mix.locks ? rng_below(&g->rng, g->mix.locks) : 0);
		break;
	case OP_FORK:
		gen_fork(g, t);
		break;
	case OP_JOIN:
		join_random(g, t);
		break;
	default:
		gen_emit(g, t, (enum op)op, 0);
	}
}

void gen_turn(struct gen *g)
{
	uint32_t t = g->last;
	unsigned stay = g->thread[t].depth ? g->mix.stay_inside : g->mix.stay_outside;

	if (!gen_runs(g, t) || !rng_percent(&g->rng, stay))
		t = gen_thread(g);
	g->last = t;
	add_random_op(g, t);
}
