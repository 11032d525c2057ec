/*
 * Shapes in an otherwise random trace: those that are known to break engines, and
 * those without which an engine that reports too much or too little could pass.
 */
#include "random_gen.h"

#include "base/banned.h"

/*
 * Short plays for up to four threads, three variables and one lock, which are
 * chosen at random. LEAVE: the thread ends all its blocks, so that its next
 * operations are outside. MAYBE_END: the thread ends a block or leaves it open.
 */
enum { LEAVE = OP_COUNT, MAYBE_END };

struct step {
	uint8_t actor, op, operand;
};

enum { B = OP_BEGIN, E = OP_END, R = OP_READ, W = OP_WRITE, A = OP_ACQUIRE, L = OP_RELEASE };

#define PLAY(name, ...) static const struct step name[] = {__VA_ARGS__, {0, 0, 0}}
/* clang-format off */

/* Operations outside blocks, ordered after an open block: the paper's merge is wrong about these. */
PLAY(merge, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, R, 0}, {1, W, 1}, {0, R, 1}, {0, MAYBE_END, 0});
/* The same over three threads; then without the edge back to the block. */
PLAY(merge_chain, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, R, 0}, {1, W, 1}, {2, LEAVE, 0},
	{2, R, 1}, {2, W, 2}, {0, R, 2}, {0, MAYBE_END, 0});
PLAY(merge_open, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, R, 0}, {1, W, 1}, {2, LEAVE, 0},
	{2, R, 0}, {2, R, 1}, {0, MAYBE_END, 0}, {1, R, 1});
/* Two open blocks, and an operation outside that is ordered after both. */
PLAY(merge_two, {0, B, 0}, {1, B, 0}, {0, W, 0}, {1, W, 1}, {2, LEAVE, 0}, {2, R, 0}, {2, R, 1},
	{2, W, 2}, {1, R, 2}, {1, MAYBE_END, 0}, {0, MAYBE_END, 0});
/* A read and a write cut by a write. */
PLAY(cut, {0, B, 0}, {0, R, 0}, {1, W, 0}, {0, W, 0}, {0, MAYBE_END, 0});
/* No block is to blame. */
PLAY(blameless, {0, B, 0}, {0, W, 0}, {1, B, 0}, {1, W, 1}, {1, R, 0}, {1, MAYBE_END, 0},
	{0, R, 1}, {0, MAYBE_END, 0});
PLAY(blameless_three, {0, B, 0}, {1, B, 0}, {2, B, 0}, {0, W, 0}, {1, W, 1}, {2, W, 2}, {1, R, 0},
	{1, E, 0}, {2, R, 1}, {2, E, 0}, {0, R, 2}, {0, MAYBE_END, 0});
/* The cycle in the paper's introduction, by a lock and two variables. */
PLAY(intro, {0, B, 0}, {0, A, 0}, {0, L, 0}, {1, B, 0}, {1, A, 0}, {1, W, 0}, {1, L, 0}, {1, E, 0},
	{2, B, 0}, {2, R, 0}, {2, W, 1}, {2, E, 0}, {0, B, 0}, {0, R, 1}, {0, E, 0}, {0, E, 0});
/* Some of the nested blocks are refuted, others are not. */
PLAY(nested, {0, B, 0}, {0, B, 0}, {0, R, 0}, {1, B, 0}, {1, W, 0}, {1, E, 0}, {0, B, 0}, {0, W, 0},
	{0, E, 0}, {0, E, 0}, {0, E, 0});
/* A locked read, then a locked write: an update is lost. Then the same with one locked section. */
PLAY(lost_update, {0, B, 0}, {0, A, 0}, {0, R, 0}, {0, L, 0}, {1, B, 0}, {1, A, 0}, {1, R, 0},
	{1, W, 0}, {1, L, 0}, {1, E, 0}, {0, A, 0}, {0, W, 0}, {0, L, 0}, {0, E, 0});
PLAY(kept_update, {0, B, 0}, {0, A, 0}, {0, R, 0}, {1, B, 0}, {0, W, 0}, {0, L, 0}, {0, E, 0},
	{1, A, 0}, {1, R, 0}, {1, W, 0}, {1, L, 0}, {1, E, 0});
/* A flag hands over ownership. */
PLAY(hand_off, {0, LEAVE, 0}, {0, B, 0}, {0, R, 0}, {0, W, 0}, {0, W, 1}, {0, E, 0}, {1, LEAVE, 0},
	{1, R, 1}, {1, B, 0}, {1, R, 0}, {1, W, 0}, {1, W, 1}, {1, E, 0}, {0, R, 1});
/* The cycle contains the edge between two transactions of one thread. */
PLAY(thread_order, {0, B, 0}, {0, W, 0}, {1, LEAVE, 0}, {1, B, 0}, {1, R, 0}, {1, E, 0}, {1, B, 0},
	{1, W, 1}, {1, E, 0}, {0, R, 1}, {0, MAYBE_END, 0});
/*
 * Thread 0's block first reaches a late event of thread 2. Then, through the block of thread 1, it
 * reaches earlier events of thread 2, among them the write that thread 0 reads at last.
 */
PLAY(earlier, {1, B, 0}, {1, W, 0}, {2, LEAVE, 0}, {2, R, 0}, {2, W, 1}, {0, B, 0}, {0, W, 2},
	{2, R, 2}, {1, R, 2}, {0, R, 1}, {0, MAYBE_END, 0}, {1, MAYBE_END, 0});
/*
 * A read outside blocks (by 2) is ordered after another read (by 1). Then comes a write (by 0)
 * whose edge from the later read closes a cycle and is left out: its edge from the earlier read
 * must still be there.
 */
PLAY(covered_read, {0, B, 0}, {1, B, 0}, {0, R, 0}, {1, R, 0}, {2, LEAVE, 0}, {2, W, 0}, {1, R, 0},
	{2, R, 0}, {0, W, 0}, {1, R, 0}, {0, MAYBE_END, 0});
/* clang-format on */

/* All plays are equally likely, so a play that stands here twice is tried twice as often. */
static const struct step *const shapes[] = {
	merge,    merge,     merge_chain,     merge_chain,  merge_open,  merge_two,   cut,
	nested,   blameless, blameless_three, intro,        lost_update, kept_update, kept_update,
	hand_off, hand_off,  thread_order,    covered_read, earlier,     earlier,
};

/* Chooses n threads, different ones if possible. The same thread twice does no harm. */
static void choose_actors(struct gen *g, uint32_t *actor, unsigned n)
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

static void add_play(struct gen *g, const struct step *s)
{
	uint32_t actor[4], var[3];
	uint32_t lock = g->mix.locks ? rng_below(&g->rng, g->mix.locks) : 0;
	uint32_t shift = rng_below(&g->rng, g->mix.vars);

	choose_actors(g, actor, 4);
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

/* A transaction stays open during short ones and operations outside blocks. */
static void add_long_transaction(struct gen *g)
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
 * Two or three open blocks and a thread outside blocks access one or two variables. This tests the
 * engines after the first finding, whose closing edge they left out. (Typical errors here concern
 * reads that cover other reads.)
 */
static void add_brawl(struct gen *g)
{
	unsigned n = rng_between(&g->rng, 3, 4), vars = rng_between(&g->rng, 1, 2);
	unsigned reads = rng_between(&g->rng, 50, 80);
	uint32_t who[4], var = gen_var(g, 0);

	choose_actors(g, who, n);
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

/* Many threads, inside blocks and outside, read what an open block wrote; then a thread writes. */
static void add_audience(struct gen *g)
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
static void add_locked_section(struct gen *g)
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

/* A thread is forked, does a little and is joined; engines may then reuse its slot. */
static void add_short_life(struct gen *g)
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
 * Children come and go while a block is open. Some are ordered after the block and some are not.
 * One thread forks them and another joins them, so that the block reaches no new child through an
 * old one. An engine that gives the slot of a dead child to a new one must distinguish the two.
 */
static void add_generations(struct gen *g)
{
	uint32_t who[3], child, x, y; /* who: the block's thread, the parent, the joiner */

	choose_actors(g, who, 3);
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
		add_generations(g);
	else if (g->mix.crowd && rng_percent(&g->rng, 60))
		add_short_life(g);
	else if (rng_percent(&g->rng, g->mix.brawl))
		add_brawl(g);
	else if (rng_percent(&g->rng, g->mix.crowd ? 50 : 5))
		add_audience(g);
	else if (rng_percent(&g->rng, 15))
		add_long_transaction(g);
	else if (rng_percent(&g->rng, 30))
		add_locked_section(g);
	else
		add_play(g, shapes[rng_below(&g->rng, sizeof shapes / sizeof *shapes)]);
}
