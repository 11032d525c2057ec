/*
 * Shapes that are known to break engines, or would let a blunt one pass, in a
 * trace that is otherwise random.
 */
#include "random_gen.h"

#include "base/banned.h"

/*
 * Short plays for up to four threads, three variables and one lock,
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
/* No block is to blame. */
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
/*
 * 0 reaches 2 late in its thread; then, by way of 1, it turns out to reach it
 * earlier, at what it reads at last.
 */
PLAY(earlier, {1, B, 0}, {1, W, 0}, {2, LEAVE, 0}, {2, R, 0}, {2, W, 1}, {0, B, 0}, {0, W, 2},
	{2, R, 2}, {1, R, 2}, {0, R, 1}, {0, MAYBE_END, 0}, {1, MAYBE_END, 0});
/*
 * An outside read (by 2) that follows another (by 1), then a write which may not
 * have its edge from the later one: it must still have that from the earlier.
 */
PLAY(covered_read, {0, B, 0}, {1, B, 0}, {0, R, 0}, {1, R, 0}, {2, LEAVE, 0}, {2, W, 0}, {1, R, 0},
	{2, R, 0}, {0, W, 0}, {1, R, 0}, {0, MAYBE_END, 0});
/* clang-format on */

/* How often: the merge plays stand twice. */
static const struct step *const shapes[] = {
	merge,    merge,     merge_chain,     merge_chain,  merge_open,  merge_two,   cut,
	nested,   blameless, blameless_three, intro,        lost_update, kept_update, kept_update,
	hand_off, hand_off,  thread_order,    covered_read, earlier,     earlier,
};

/* Different threads while there are enough; the same one twice does no harm. */
static void cast(struct gen *g, uint32_t *actor, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned same, tries = 8;

		do {
			actor[i] = gen_thread(g);
			for (same = 0; actor[same] != actor[i]; same++)
				;
		} while (same < i && --tries);
	}
}

static void play(struct gen *g, const struct step *s)
{
	uint32_t actor[4], var[3];
	uint32_t lock = g->mix.locks ? rng_below(&g->rng, g->mix.locks) : 0;
	uint32_t shift = rng_below(&g->rng, g->mix.vars);

	cast(g, actor, 4);
	for (unsigned i = 0; i < 3; i++)
		var[i] = (shift + i) % g->mix.vars;
	for (; s->op != OP_NONE && !gen_full(g); s++) {
		uint32_t t = actor[s->actor];

		if (rng_percent(&g->rng, g->mix.noise))
			gen_turn(g);
		if (s->op == LEAVE)
			gen_leave(g, t);
		else if (s->op == MAYBE_END && rng_percent(&g->rng, 60))
			gen_emit(g, t, OP_END, 0);
		else if (s->op < OP_COUNT)
			gen_emit(g, t, (enum op)s->op,
				 op_is_access(s->op) ? var[s->operand] : lock);
	}
}

/* One transaction stays open while short ones, and operations outside, pass by. */
static void long_transaction(struct gen *g)
{
	uint32_t old = gen_thread(g);
	unsigned rounds = rng_between(&g->rng, 2, 8);

	gen_emit(g, old, OP_BEGIN, 0);
	gen_access(g, old, 50);
	while (rounds-- && !gen_full(g)) {
		uint32_t t = gen_thread(g);
		bool block = rng_percent(&g->rng, 60);

		if (t == old)
			continue;
		if (block)
			gen_emit(g, t, OP_BEGIN, 0);
		for (unsigned i = rng_between(&g->rng, 1, 3); i; i--)
			gen_access(g, t, 70);
		if (block)
			gen_emit(g, t, OP_END, 0);
	}
	if (rng_percent(&g->rng, 60))
		gen_access(g, old, 70);
	if (rng_percent(&g->rng, 60))
		gen_emit(g, old, OP_END, 0);
}

/*
 * Two or three open blocks and a thread outside blocks fight for one or two
 * variables: tests engines on the trace after the first finding, whose closing edge
 * they left out. (Reads that cover other reads are what goes wrong here.)
 */
static void brawl(struct gen *g)
{
	unsigned n = rng_between(&g->rng, 3, 4), vars = rng_between(&g->rng, 1, 2);
	unsigned reads = rng_between(&g->rng, 50, 80);
	uint32_t who[4], var = gen_var(g, 0);

	cast(g, who, n);
	gen_leave(g, who[0]);
	for (unsigned i = 1; i < n; i++)
		if (!g->thread[who[i]].depth)
			gen_emit(g, who[i], OP_BEGIN, 0);
	for (unsigned i = rng_between(&g->rng, 5, 20); i; i--) {
		uint32_t t = who[rng_below(&g->rng, n)];
		enum op op = rng_percent(&g->rng, reads) ? OP_READ : OP_WRITE;

		gen_emit(g, t, op, (var + rng_below(&g->rng, vars)) % g->mix.vars);
	}
}

/* Many threads read what an open block wrote, inside blocks and outside; one writes. */
static void audience(struct gen *g)
{
	uint32_t star = gen_thread(g), var = gen_var(g, star);
	unsigned inside = rng_between(&g->rng, 0, 60);

	gen_emit(g, star, OP_BEGIN, 0);
	gen_emit(g, star, OP_WRITE, var);
	for (uint32_t t = 0; t < g->mix.threads; t++) {
		if (t == star || rng_percent(&g->rng, 20))
			continue;
		if (!g->thread[t].depth && rng_percent(&g->rng, inside))
			gen_emit(g, t, OP_BEGIN, 0);
		gen_emit(g, t, OP_READ, var);
		if (rng_percent(&g->rng, 50))
			gen_emit(g, t, OP_END, 0);
		if (rng_percent(&g->rng, g->mix.noise))
			gen_turn(g);
	}
	if (rng_percent(&g->rng, 40))
		star = gen_thread(g);
	gen_emit(g, star, OP_WRITE, var);
	gen_emit(g, star, OP_END, 0);
}

/* A locked section, inside one block or across its edges. */
static void locked_section(struct gen *g)
{
	uint32_t t = gen_thread(g), lock;
	bool inside = rng_percent(&g->rng, 70);

	if (!g->mix.locks)
		return;
	lock = rng_below(&g->rng, g->mix.locks);
	if (inside)
		gen_emit(g, t, OP_BEGIN, 0);
	gen_emit(g, t, rng_percent(&g->rng, g->mix.shared) ? OP_ACQUIRE_SHARED : OP_ACQUIRE, lock);
	if (!inside && rng_percent(&g->rng, 50))
		gen_emit(g, t, OP_BEGIN, 0);
	for (unsigned i = rng_between(&g->rng, 1, 3); i; i--) {
		gen_emit(g, t, rng_percent(&g->rng, 60) ? OP_READ : OP_WRITE, lock % g->mix.vars);
		if (rng_percent(&g->rng, g->mix.noise))
			gen_turn(g);
	}
	gen_emit(g, t, OP_RELEASE, lock);
	gen_emit(g, t, OP_END, 0);
}

/* A thread that is forked, does a little and is joined: its number is free again. */
static void short_life(struct gen *g)
{
	uint32_t parent = gen_thread(g), child = gen_next_child(g);
	bool block = rng_percent(&g->rng, 50), inside = rng_percent(&g->rng, 20);

	if (child == g->mix.threads)
		return;
	if (!inside)
		gen_leave(g, parent);
	gen_fork(g, parent);
	if (block)
		gen_emit(g, child, OP_BEGIN, 0);
	for (unsigned i = rng_between(&g->rng, 0, 3); i; i--) {
		gen_access(g, child, 60);
		if (rng_percent(&g->rng, g->mix.noise))
			gen_turn(g);
	}
	if (block && rng_percent(&g->rng, 90))
		gen_emit(g, child, OP_END, 0);
	if (rng_percent(&g->rng, 30))
		parent = gen_thread(g);
	if (rng_percent(&g->rng, 85))
		gen_join(g, parent, child);
}

/*
 * Children come and go while a block is open. Some follow it and some do not; one
 * thread forks them and another joins, so that the block reaches no new child
 * through an old one. An engine that gives the place of a dead child to a new one
 * must know which is which.
 */
static void generations(struct gen *g)
{
	uint32_t who[3], child, x, y; /* who: the block's thread, the parent, the joiner */

	cast(g, who, 3);
	x = gen_var(g, who[0]);
	y = (x + 1) % g->mix.vars;
	gen_leave(g, who[1]);
	gen_leave(g, who[2]);
	gen_emit(g, who[0], OP_BEGIN, 0);
	gen_emit(g, who[0], OP_WRITE, x);
	for (unsigned i = rng_between(&g->rng, 4, 16); i && !gen_full(g); i--) {
		bool follows = rng_percent(&g->rng, 60);

		child = gen_next_child(g);
		if (child == g->mix.threads)
			break;
		gen_fork(g, who[1]);
		gen_emit(g, child, follows ? OP_READ : OP_WRITE, follows ? x : y);
		if (!follows && rng_percent(&g->rng, 40))
			gen_emit(g, who[0], OP_READ, y);
		if (rng_percent(&g->rng, 90))
			gen_join(g, who[2], child);
	}
	gen_emit(g, who[0], OP_READ, y);
	gen_emit(g, who[0], OP_END, 0);
}

void gen_shape(struct gen *g)
{
	if (g->mix.crowd && rng_percent(&g->rng, 20))
		generations(g);
	else if (g->mix.crowd && rng_percent(&g->rng, 60))
		short_life(g);
	else if (rng_percent(&g->rng, g->mix.brawl))
		brawl(g);
	else if (rng_percent(&g->rng, g->mix.crowd ? 50 : 5))
		audience(g);
	else if (rng_percent(&g->rng, 15))
		long_transaction(g);
	else if (rng_percent(&g->rng, 30))
		locked_section(g);
	else
		play(g, shapes[rng_below(&g->rng, sizeof shapes / sizeof *shapes)]);
}
