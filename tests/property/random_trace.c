#include "random_trace.h"

#include "rng.h"

#include "base/banned.h"

enum { MAX_THREADS = 6, MAX_CROWD = 40, MAX_VARS = 4, MAX_LOCKS = 3 };

/* Drawn once a seed. */
struct mix {
	unsigned threads, vars, locks, length;
	bool crowd;           /* threads come and go */
	unsigned depth;       /* of nested blocks */
	unsigned stay_inside; /* percent: the thread in a block goes on */
	unsigned stay_outside;
	unsigned own;    /* percent of accesses that are to the thread's own variable */
	unsigned shared; /* percent of acquires that are shared */
	unsigned repeat; /* percent of acquires that repeat one */
	unsigned brawl;  /* percent of shapes that are brawls */
	unsigned shape;  /* percent of turns that are a shape */
	unsigned noise;  /* percent of a shape's steps that another event precedes */
	unsigned tidy;   /* percent: a thread that ends closes its blocks first */
	unsigned weight[OP_COUNT];
};

struct gen_thread {
	bool waits_for_fork, dead;
	unsigned depth;
	unsigned held[MAX_LOCKS]; /* how often */
	bool shared[MAX_LOCKS];   /* in which way, where held */
};

struct gen {
	struct rng rng;
	struct mix mix;
	struct gen_thread thread[MAX_CROWD];
	struct trace *out;
	uint32_t last; /* the thread that had the last turn */
};

static bool full(const struct gen *g)
{
	return g->out->n >= g->mix.length;
}

static bool runs(const struct gen *g, uint32_t t)
{
	return !g->thread[t].dead && !g->thread[t].waits_for_fork;
}

static uint32_t some_thread(struct gen *g)
{
	uint32_t t;

	do
		t = rng_below(&g->rng, g->mix.threads);
	while (!runs(g, t)); /* thread 0 never dies and is never forked */
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

/* One event, or none where it is not possible now. */
static void emit(struct gen *g, uint32_t t, enum op op, uint32_t operand)
{
	struct gen_thread *me = &g->thread[t];

	if (full(g) || !runs(g, t))
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

static void leave_blocks(struct gen *g, uint32_t t)
{
	while (g->thread[t].depth && runs(g, t) && !full(g))
		emit(g, t, OP_END, 0);
}

static void fork_one(struct gen *g, uint32_t t)
{
	for (uint32_t u = 0; u < g->mix.threads; u++) {
		if (g->thread[u].waits_for_fork) {
			emit(g, t, OP_FORK, u);
			g->thread[u].waits_for_fork = full(g);
			return;
		}
	}
}

/* The child is done from now on, with blocks left open now and then. */
static void join_one(struct gen *g, uint32_t t)
{
	uint32_t u = rng_below(&g->rng, g->mix.threads);

	if (u == 0 || u == t || g->thread[u].waits_for_fork)
		return;
	if (!g->thread[u].dead && rng_percent(&g->rng, g->mix.tidy)) {
		for (uint32_t l = 0; l < g->mix.locks; l++)
			while (g->thread[u].held[l] && !full(g))
				emit(g, u, OP_RELEASE, l);
		leave_blocks(g, u);
	}
	if (full(g))
		return;
	g->thread[u].dead = true;
	emit(g, t, OP_JOIN, u);
}

static uint32_t some_var(struct gen *g, uint32_t t)
{
	if (rng_percent(&g->rng, g->mix.own))
		return t % g->mix.vars;
	return rng_below(&g->rng, g->mix.vars);
}

/*
 * An access, `reads` percent of them reads. C leaves open in which order a
 * call's arguments are computed, and a seed must mean one trace for every
 * compiler: so no call has two draws among its arguments.
 */
static void random_access(struct gen *g, uint32_t t, unsigned reads)
{
	enum op op = rng_percent(&g->rng, reads) ? OP_READ : OP_WRITE;

	emit(g, t, op, some_var(g, t));
}

static void random_acquire(struct gen *g, uint32_t t)
{
	uint32_t lock;

	if (!g->mix.locks)
		return;
	lock = rng_below(&g->rng, g->mix.locks);
	if (g->thread[t].held[lock] && !rng_percent(&g->rng, g->mix.repeat))
		return;
	emit(g, t, rng_percent(&g->rng, g->mix.shared) ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
}

static void random_op(struct gen *g, uint32_t t)
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
		emit(g, t, (enum op)op, some_var(g, t));
		break;
	case OP_ACQUIRE:
		random_acquire(g, t);
		break;
	case OP_RELEASE:
		emit(g, t, OP_RELEASE, g->mix.locks ? rng_below(&g->rng, g->mix.locks) : 0);
		break;
	case OP_FORK:
		fork_one(g, t);
		break;
	case OP_JOIN:
		join_one(g, t);
		break;
	default:
		emit(g, t, (enum op)op, 0);
	}
}

/*
 * Shapes: short plays for up to four threads, three variables and one lock,
 * which are cast at random. LEAVE makes the actor close its blocks, so that
 * what follows is outside. MAYBE_END lets it end a block or leave it open.
 */
enum { LEAVE = OP_COUNT, MAYBE_END };

struct step {
	uint8_t actor, op, operand;
};

enum { B = OP_BEGIN, E = OP_END, R = OP_READ, W = OP_WRITE, A = OP_ACQUIRE, L = OP_RELEASE };

#define PLAY(name, ...) static const struct step name[] = {__VA_ARGS__, {0, 0, 0}}
/* clang-format off */

/* Outside operations that follow an open block: Velodrome's merge gets this wrong. */
PLAY(merge, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, R, 0}, {1, W, 1}, {0, R, 1}, {0, MAYBE_END, 0});
/* The same over three threads, and with the way back left out. */
PLAY(merge_chain, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, R, 0}, {1, W, 1}, {2, LEAVE, 0},
	{2, R, 1}, {2, W, 2}, {0, R, 2}, {0, MAYBE_END, 0});
PLAY(merge_open, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, R, 0}, {1, W, 1}, {2, LEAVE, 0},
	{2, R, 0}, {2, R, 1}, {0, MAYBE_END, 0}, {1, R, 1});
/* Two open blocks, an operation outside that follows both. */
PLAY(merge_two, {0, B, 0}, {1, B, 0}, {0, W, 0}, {1, W, 1}, {2, LEAVE, 0}, {2, R, 0}, {2, R, 1},
	{2, W, 2}, {1, R, 2}, {1, MAYBE_END, 0}, {0, MAYBE_END, 0});
/* A read and a write cut by a write. */
PLAY(cut, {0, B, 0}, {0, R, 0}, {1, W, 0}, {0, W, 0}, {0, MAYBE_END, 0});
/* Nobody is to blame. */
PLAY(blameless, {0, B, 0}, {0, W, 0}, {1, B, 0}, {1, W, 1}, {1, R, 0}, {1, MAYBE_END, 0},
	{0, R, 1}, {0, MAYBE_END, 0});
PLAY(blameless_three, {0, B, 0}, {1, B, 0}, {2, B, 0}, {0, W, 0}, {1, W, 1}, {2, W, 2}, {1, R, 0},
	{1, E, 0}, {2, R, 1}, {2, E, 0}, {0, R, 2}, {0, MAYBE_END, 0});
/* The introduction's cycle, by a lock and two variables. */
PLAY(intro, {0, B, 0}, {0, A, 0}, {0, L, 0}, {1, B, 0}, {1, A, 0}, {1, W, 0}, {1, L, 0}, {1, E, 0},
	{2, B, 0}, {2, R, 0}, {2, W, 1}, {2, E, 0}, {0, B, 0}, {0, R, 1}, {0, E, 0}, {0, E, 0});
/* Refutes some of the nested blocks. */
PLAY(nested, {0, B, 0}, {0, B, 0}, {0, R, 0}, {1, B, 0}, {1, W, 0}, {1, E, 0}, {0, B, 0}, {0, W, 0},
	{0, E, 0}, {0, E, 0}, {0, E, 0});
/* Locked read, locked write: an update is lost. And as it should be. */
PLAY(lost_update, {0, B, 0}, {0, A, 0}, {0, R, 0}, {0, L, 0}, {1, B, 0}, {1, A, 0}, {1, R, 0},
	{1, W, 0}, {1, L, 0}, {1, E, 0}, {0, A, 0}, {0, W, 0}, {0, L, 0}, {0, E, 0});
PLAY(kept_update, {0, B, 0}, {0, A, 0}, {0, R, 0}, {1, B, 0}, {0, W, 0}, {0, L, 0}, {0, E, 0},
	{1, A, 0}, {1, R, 0}, {1, W, 0}, {1, L, 0}, {1, E, 0});
/* Ownership handed over by a flag. */
PLAY(hand_off, {0, LEAVE, 0}, {0, B, 0}, {0, R, 0}, {0, W, 0}, {0, W, 1}, {0, E, 0}, {1, LEAVE, 0},
	{1, R, 1}, {1, B, 0}, {1, R, 0}, {1, W, 0}, {1, W, 1}, {1, E, 0}, {0, R, 1});
/* The edge between two transactions of one thread is on the way. */
PLAY(thread_order, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, B, 0}, {1, R, 0}, {1, E, 0}, {1, B, 0},
	{1, W, 1}, {1, E, 0}, {0, R, 1}, {0, MAYBE_END, 0});
/* clang-format on */

/* How often: the merge plays stand twice. */
static const struct step *const shapes[] = {
	merge,       merge,       merge_chain, merge_chain,     merge_open,   merge_two,
	cut,         nested,      blameless,   blameless_three, intro,        lost_update,
	kept_update, kept_update, hand_off,    hand_off,        thread_order,
};

static void random_turn(struct gen *g);

static void play(struct gen *g, const struct step *s)
{
	uint32_t actor[4], var[3];
	uint32_t lock = g->mix.locks ? rng_below(&g->rng, g->mix.locks) : 0;
	uint32_t shift = rng_below(&g->rng, g->mix.vars);

	/* Different actors while there are enough; the same one twice does no harm. */
	for (unsigned i = 0; i < 4; i++) {
		actor[i] = some_thread(g);
		for (unsigned tries = 0; tries < 4 && i && actor[i] == actor[i - 1]; tries++)
			actor[i] = some_thread(g);
	}
	for (unsigned i = 0; i < 3; i++)
		var[i] = (shift + i) % g->mix.vars;
	for (; s->op != OP_NONE && !full(g); s++) {
		uint32_t t = actor[s->actor];

		if (rng_percent(&g->rng, g->mix.noise))
			random_turn(g);
		if (s->op == LEAVE)
			leave_blocks(g, t);
		else if (s->op == MAYBE_END && rng_percent(&g->rng, 60))
			emit(g, t, OP_END, 0);
		else if (s->op < OP_COUNT)
			emit(g, t, (enum op)s->op, op_is_access(s->op) ? var[s->operand] : lock);
	}
}

/* One transaction stays open while short ones, and operations outside, pass by. */
static void long_transaction(struct gen *g)
{
	uint32_t old = some_thread(g);
	unsigned rounds = rng_between(&g->rng, 2, 8);

	emit(g, old, OP_BEGIN, 0);
	random_access(g, old, 50);
	while (rounds-- && !full(g)) {
		uint32_t t = some_thread(g);
		bool block = rng_percent(&g->rng, 60);

		if (t == old)
			continue;
		if (block)
			emit(g, t, OP_BEGIN, 0);
		for (unsigned i = rng_between(&g->rng, 1, 3); i; i--)
			random_access(g, t, 70);
		if (block)
			emit(g, t, OP_END, 0);
	}
	if (rng_percent(&g->rng, 60))
		random_access(g, old, 70);
	if (rng_percent(&g->rng, 60))
		emit(g, old, OP_END, 0);
}

/*
 * Two or three open blocks and somebody outside fight for one or two variables:
 * what engines make of the trace after the first finding, whose closing edge
 * they left out. (Reads that cover other reads are what goes wrong here.)
 */
static void brawl(struct gen *g)
{
	unsigned n = rng_between(&g->rng, 3, 4), vars = rng_between(&g->rng, 1, 2);
	unsigned reads = rng_between(&g->rng, 50, 80);
	uint32_t who[4], var = some_var(g, 0);

	for (unsigned i = 0; i < n; i++)
		who[i] = some_thread(g);
	leave_blocks(g, who[0]);
	for (unsigned i = 1; i < n; i++)
		if (!g->thread[who[i]].depth)
			emit(g, who[i], OP_BEGIN, 0);
	for (unsigned i = rng_between(&g->rng, 5, 20); i; i--) {
		uint32_t t = who[rng_below(&g->rng, n)];
		enum op op = rng_percent(&g->rng, reads) ? OP_READ : OP_WRITE;

		emit(g, t, op, (var + rng_below(&g->rng, vars)) % g->mix.vars);
	}
}

/* A locked section, inside one block or across its edges. */
static void locked_section(struct gen *g)
{
	uint32_t t = some_thread(g), lock;
	bool inside = rng_percent(&g->rng, 70);

	if (!g->mix.locks)
		return;
	lock = rng_below(&g->rng, g->mix.locks);
	if (inside)
		emit(g, t, OP_BEGIN, 0);
	emit(g, t, rng_percent(&g->rng, g->mix.shared) ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
	if (!inside && rng_percent(&g->rng, 50))
		emit(g, t, OP_BEGIN, 0);
	for (unsigned i = rng_between(&g->rng, 1, 3); i; i--) {
		emit(g, t, rng_percent(&g->rng, 60) ? OP_READ : OP_WRITE, lock % g->mix.vars);
		if (rng_percent(&g->rng, g->mix.noise))
			random_turn(g);
	}
	emit(g, t, OP_RELEASE, lock);
	emit(g, t, OP_END, 0);
}

/* A thread that is forked, does a little and is joined: its number is free again. */
static void short_life(struct gen *g)
{
	uint32_t parent = some_thread(g), child = 0;
	bool block = rng_percent(&g->rng, 50), inside = rng_percent(&g->rng, 20);

	while (child < g->mix.threads && !g->thread[child].waits_for_fork)
		child++;
	if (child == g->mix.threads)
		return;
	if (!inside)
		leave_blocks(g, parent);
	fork_one(g, parent);
	if (block)
		emit(g, child, OP_BEGIN, 0);
	for (unsigned i = rng_between(&g->rng, 0, 3); i; i--) {
		random_access(g, child, 60);
		if (rng_percent(&g->rng, g->mix.noise))
			random_turn(g);
	}
	if (block && rng_percent(&g->rng, 90))
		emit(g, child, OP_END, 0);
	if (rng_percent(&g->rng, 30))
		parent = some_thread(g);
	if (parent == child || full(g) || g->thread[child].dead || rng_percent(&g->rng, 15))
		return;
	g->thread[child].dead = true;
	emit(g, parent, OP_JOIN, child);
}

static void random_turn(struct gen *g)
{
	uint32_t t = g->last;
	unsigned stay = g->thread[t].depth ? g->mix.stay_inside : g->mix.stay_outside;

	if (!runs(g, t) || !rng_percent(&g->rng, stay))
		t = some_thread(g);
	g->last = t;
	random_op(g, t);
}

static void draw_mix(struct gen *g, unsigned max_length)
{
	struct rng *r = &g->rng;
	struct mix *m = &g->mix;
	unsigned *w = m->weight;

	m->threads = rng_between(r, 2, MAX_THREADS);
	m->vars = rng_between(r, 1, MAX_VARS);
	m->locks = rng_between(r, 0, MAX_LOCKS);
	m->length = rng_between(r, 4, max_length);
	if (rng_percent(r, 40)) /* short ones show more, and are most of what can be tried */
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

	/* Many threads, few at a time: engines give the place of an ended one to another. */
	if (max_length >= 40 && rng_percent(r, 12)) {
		m->threads = rng_between(r, MAX_THREADS + 1, MAX_CROWD);
		m->length = rng_between(r, 40, max_length);
		m->shape = rng_between(r, 20, 60);
		m->crowd = true;
		for (unsigned t = 1; t < m->threads; t++)
			g->thread[t].waits_for_fork = rng_percent(r, 95);
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
	/* A mix may have little that is possible; the trace is short then, not endless. */
	while (!full(&g) && idle < 1000) {
		size_t before = t->n;

		if (!rng_percent(&g.rng, g.mix.shape))
			random_turn(&g);
		else if (g.mix.crowd && rng_percent(&g.rng, 70))
			short_life(&g);
		else if (rng_percent(&g.rng, g.mix.brawl))
			brawl(&g);
		else if (rng_percent(&g.rng, 15))
			long_transaction(&g);
		else if (rng_percent(&g.rng, 30))
			locked_section(&g);
		else
			play(&g, shapes[rng_below(&g.rng, sizeof shapes / sizeof *shapes)]);
		idle = t->n == before ? idle + 1 : 0;
	}
	trace_canonical(t);
}
