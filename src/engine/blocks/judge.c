#include "engine/blocks/judge.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/mem.h"

#include "base/banned.h"

/* The most blocks that one block is compared with. */
enum { TRIES = 1 << 14 };

/*
 * A point, a window or a pair, without its time. Fields that a table does not need are
 * 0. All bytes are compared, so there must be no padding.
 */
struct key {
	uint32_t life[2];
	uint32_t kind; /* of a point; of a window: the enemy; of a pair: both */
	uint32_t piece;
	heldset held[2], across, used;
	uint32_t phase;
};

struct entry {
	struct key key;
	struct blocks_ref at[2];
	bool bad;
	struct blocks_cut cut;
};

struct blocks_table {
	struct entry *v;
	size_t cap;
	uint32_t n, *slot; /* hash: 1 + index */
	size_t nslots;
};

static uint32_t *find_slot(const struct blocks_table *t, const struct key *key)
{
	size_t i = XXH3_64bits(key, sizeof *key) & (t->nslots - 1);

	while (t->slot[i] && memcmp(&t->v[t->slot[i] - 1].key, key, sizeof *key))
		i = (i + 1) & (t->nslots - 1);
	return &t->slot[i];
}

static void resize_slots(struct blocks_table *t, size_t slots)
{
	mem_free(t->slot);
	t->nslots = slots;
	t->slot = mem_zalloc(slots * sizeof *t->slot);
	for (uint32_t i = 0; i < t->n; i++)
		*find_slot(t, &t->v[i].key) = i + 1;
}

static struct blocks_table *new_table(void)
{
	struct blocks_table *t = mem_zalloc(sizeof *t);

	resize_slots(t, 1024);
	return t;
}

static void free_table(struct blocks_table *t)
{
	if (!t)
		return;
	mem_free(t->v);
	mem_free(t->slot);
	mem_free(t);
}

static struct entry *find_entry(const struct blocks_table *t, const struct key *key)
{
	uint32_t at = *find_slot(t, key);

	return at ? &t->v[at - 1] : NULL;
}

static void add_entry(struct blocks_table *t, const struct key *key, uint32_t segment, uint32_t a,
		      uint32_t b)
{
	uint32_t *slot = find_slot(t, key);

	if (*slot)
		return;
	MEM_GROW(t->v, t->cap, (size_t)t->n + 1);
	t->v[t->n] = (struct entry){.key = *key, .at = {{segment, a}, {segment, b}}};
	*slot = ++t->n;
	if (t->n * 2 > t->nslots)
		resize_slots(t, 2 * t->nslots);
}

static int compare_numbers(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/*
 * The points of a life are in four parts: writes before those that only read, and of
 * each those outside blocks first.
 */
enum { WRITE_OUTSIDE, WRITE_INSIDE, READ_OUTSIDE, READ_INSIDE, PARTS };

static uint32_t part_of(const struct key *key)
{
	return (key->kind & BLOCKS_WRITE ? WRITE_OUTSIDE : READ_OUTSIDE) + !key->piece;
}

static int by_part(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = compare_numbers(x->key.life[0], y->key.life[0]);

	c = c ? c : compare_numbers(part_of(&x->key), part_of(&y->key));
	c = c ? c : compare_numbers(x->at[0].segment, y->at[0].segment);
	return c ? c : compare_numbers(x->at[0].op, y->at[0].op);
}

/* Compare by variable, or by two variables in any order; then by time. */
static int by_life(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	uint32_t xl = x->key.life[0], xh = x->key.life[1], yl = y->key.life[0], yh = y->key.life[1];
	int c;

	if (xh && xl > xh)
		xl = x->key.life[1], xh = x->key.life[0];
	if (yh && yl > yh)
		yl = y->key.life[1], yh = y->key.life[0];
	c = compare_numbers(xl, yl);
	c = c ? c : compare_numbers(xh, yh);
	c = c ? c : compare_numbers(x->at[0].segment, y->at[0].segment);
	return c ? c : compare_numbers(x->at[0].op, y->at[0].op);
}

static void sort_entries(struct blocks_table *t, int (*order)(const void *a, const void *b))
{
	if (t->n)
		qsort(t->v, t->n, sizeof *t->v, order);
	resize_slots(t, t->nslots);
}

/* In keys, lives are 1 + their number, so that 0 is none. */
static struct key point_key(const struct segment *t, const struct blocks_point *p)
{
	return (struct key){.life = {p->life + 1},
			    .kind = p->kind,
			    .piece = !t->transaction,
			    .held = {p->held},
			    .phase = t->phase};
}

static struct key window_key(const struct segment *t, const struct blocks_window *w)
{
	return (struct key){
		.life = {w->life + 1}, .kind = w->enemy, .across = w->across, .phase = t->phase};
}

static struct key pair_key(const struct segment *t, const struct blocks_pair *p)
{
	return (struct key){.life = {p->life[0] + 1, p->life[1] + 1},
			    .kind = (uint32_t)p->kind[0] << 8 | p->kind[1],
			    .across = p->across,
			    .phase = t->phase};
}

static struct key partner_key(const struct segment *t, const struct blocks_pair *p)
{
	struct key key = pair_key(t, p);

	key.held[0] = p->held[0];
	key.held[1] = p->held[1];
	key.used = p->used;
	return key;
}

static void add_points(struct blocks_judge *j)
{
	for (size_t i = 0; i < j->u->n; i++) {
		const struct segment *t = &j->u->segment[i];

		blocks_walk(&j->walk, j->u, t);
		for (uint32_t k = 0; k < j->walk.npoints; k++) {
			const struct blocks_point *p = &j->walk.point[k];
			struct key key = point_key(t, p);

			add_entry(j->points, &key, (uint32_t)i, p->op, 0);
		}
	}
	sort_entries(j->points, by_part);
}

/* Set, for each life, where its parts begin, and its guards. */
static void index_points(struct blocks_judge *j)
{
	uint32_t lives = j->u->contention.nlives, at = 0;

	j->first_point = mem_alloc(((size_t)lives * PARTS + 1) * sizeof *j->first_point);
	j->guards = mem_zalloc(((size_t)lives + 1) * sizeof *j->guards);
	for (uint32_t i = 0; i < lives * PARTS; i++) {
		heldset *guards = &j->guards[i / PARTS];

		j->first_point[i] = at;
		for (; at < j->points->n; at++) {
			const struct key *key = &j->points->v[at].key;
			heldset mine = heldlocks_exclusive(&j->u->held, key->held[0]);

			if ((key->life[0] - 1) * PARTS + part_of(key) != i)
				break;
			*guards = at == j->first_point[i - i % PARTS]
					  ? mine
					  : heldlocks_common(&j->u->held, *guards, mine);
		}
	}
	j->first_point[(size_t)lives * PARTS] = at;
}

/* Can no access of that variable come between, while these locks are held? */
static bool is_guarded(const struct blocks_judge *j, uint32_t life, heldset across)
{
	return j->guards[life] && heldlocks_exclude(&j->u->held, j->guards[life], across);
}

struct adding {
	struct blocks_judge *j;
	const struct segment *t;
};

static bool add_pair(void *arg, const struct blocks_pair *p)
{
	struct adding *a = arg;
	struct key key;

	if (is_guarded(a->j, p->life[0], p->across) && is_guarded(a->j, p->life[1], p->across))
		return true;
	key = pair_key(a->t, p);
	add_entry(a->j->pairs, &key, (uint32_t)(a->t - a->j->u->segment), p->op[0], p->op[1]);
	return true;
}

/* Add the blocks that may be cut at all. */
static void add_blocks(struct blocks_judge *j)
{
	for (size_t i = 0; i < j->u->n; i++) {
		const struct segment *t = &j->u->segment[i];
		struct adding a = {j, t};

		if (!t->transaction)
			continue;
		blocks_walk(&j->walk, j->u, t);
		for (uint32_t k = 0; k < j->walk.nwindows; k++) {
			const struct blocks_window *w = &j->walk.window[k];
			struct key key = window_key(t, w);

			if (!is_guarded(j, w->life, w->across))
				add_entry(j->windows, &key, (uint32_t)i, w->from, w->to);
		}
		blocks_walk_pairs(&j->walk, j->u, t, add_pair, &a);
		j->wide += j->walk.wide;
	}
}

/* Returns the pairs of variables, in both orders, that have a block that may be cut. */
static struct blocks_table *wanted_lives(const struct blocks_judge *j)
{
	struct blocks_table *wanted = new_table();

	for (uint32_t i = 0; i < j->pairs->n; i++) {
		const uint32_t *life = j->pairs->v[i].key.life;
		struct key one = {.life = {life[0], life[1]}}, two = {.life = {life[1], life[0]}};

		add_entry(wanted, &one, 0, 0, 0);
		add_entry(wanted, &two, 0, 0, 0);
	}
	return wanted;
}

struct partnering {
	struct blocks_judge *j;
	const struct segment *t;
	const struct blocks_table *wanted;
};

static bool add_partner(void *arg, const struct blocks_pair *p)
{
	struct partnering *a = arg;
	struct key lives = {.life = {p->life[0] + 1, p->life[1] + 1}}, key;
	struct blocks_pair full = *p;

	if (!find_entry(a->wanted, &lives))
		return true;
	full.used = blocks_walk_used(a->j->u, a->t, p->op[0], p->op[1]);
	key = partner_key(a->t, &full);
	add_entry(a->j->partners, &key, (uint32_t)(a->t - a->j->u->segment), p->op[0], p->op[1]);
	return true;
}

static void add_partners(struct blocks_judge *j)
{
	struct blocks_table *wanted = wanted_lives(j);

	for (size_t i = 0; i < j->u->n && j->pairs->n; i++) {
		struct partnering a = {j, &j->u->segment[i], wanted};

		if (!a.t->transaction)
			continue;
		blocks_walk(&j->walk, j->u, a.t);
		blocks_walk_pairs(&j->walk, j->u, a.t, add_partner, &a);
	}
	free_table(wanted);
	sort_entries(j->partners, by_life);
}

/* Can an operation in `phase` with these locks happen inside the block? */
static bool fits_inside(const struct blocks_judge *j, const struct key *own, uint32_t phase,
			heldset set)
{
	return segments_concurrent(j->u, own->phase, phase) &&
	       !heldlocks_exclude(&j->u->held, own->across, set);
}

static void judge_window(struct blocks_judge *j, struct entry *w)
{
	const uint32_t *first = &j->first_point[(size_t)(w->key.life[0] - 1) * PARTS];
	uint32_t end = first[w->key.kind & BLOCKS_INITIAL ? PARTS : READ_OUTSIDE], tries = 0;

	for (uint32_t i = first[0]; i < end; i++) {
		const struct entry *p = &j->points->v[i];

		if (++tries > TRIES) {
			j->given_up++;
			return;
		}
		if (!(p->key.kind & w->key.kind) ||
		    !fits_inside(j, &w->key, p->key.phase, p->key.held[0]))
			continue;
		w->bad = true;
		w->cut = (struct blocks_cut){
			.other = {p->at[0]}, .nother = 1, .nsteps = 3, .order = {0, 2, 1}};
		return;
	}
}

/*
 * Compare own operations a, b on x, y with those of another transaction on the same
 * variables. If they are in the same order, f and g, both must come between a and b. If
 * they are in the other order, g and f, it is enough that one of them does: the other
 * is on the right side anyway.
 */
static bool judge_partner(const struct blocks_judge *j, struct entry *own,
			  const struct entry *other)
{
	const struct key *a = &own->key, *b = &other->key;
	bool same = a->life[0] == b->life[0];
	uint8_t first = (uint8_t)(b->kind >> 8), second = (uint8_t)b->kind;
	static const uint8_t orders[3][4] = {{0, 2, 3, 1}, {0, 2, 1, 3}, {2, 0, 3, 1}};
	int which;

	if (!blocks_conflict((uint8_t)(a->kind >> 8), same ? first : second) ||
	    !blocks_conflict((uint8_t)a->kind, same ? second : first) ||
	    !segments_concurrent(j->u, a->phase, b->phase))
		return false;
	if (!heldlocks_exclude(&j->u->held, a->across, b->used))
		which = 0;
	else if (!same && !heldlocks_exclude(&j->u->held, a->across, b->held[0]))
		which = 1;
	else if (!same && !heldlocks_exclude(&j->u->held, a->across, b->held[1]))
		which = 2;
	else
		return false;
	own->bad = true;
	own->cut = (struct blocks_cut){
		.other = {other->at[0], other->at[1]}, .nother = 2, .nsteps = 4};
	memcpy(own->cut.order, orders[which], sizeof orders[which]);
	return true;
}

/* A walk over accesses outside blocks that conflict with one of a block and fit into it. */
struct outside {
	uint32_t part, at, *tries;
	int one; /* index of that operation of the block */
};

static const struct entry *next_outside(const struct blocks_judge *j, const struct key *own,
					struct outside *o)
{
	const uint32_t *first = &j->first_point[(size_t)(own->life[o->one] - 1) * PARTS];
	uint8_t kind = (uint8_t)(o->one ? own->kind : own->kind >> 8);

	for (; o->part <= (kind & BLOCKS_FINAL ? READ_OUTSIDE : WRITE_OUTSIDE);
	     o->part += READ_OUTSIDE, o->at = 0) {
		while (first[o->part] + o->at < first[o->part + 1]) {
			const struct entry *p = &j->points->v[first[o->part] + o->at++];

			if (++*o->tries > TRIES)
				return NULL;
			if (blocks_conflict(kind, (uint8_t)p->key.kind) &&
			    fits_inside(j, own, p->key.phase, p->key.held[0]))
				return p;
		}
	}
	return NULL;
}

/* Look for two operations outside blocks, of one thread and phase, both between own a and b. */
static void judge_outside(struct blocks_judge *j, struct entry *own)
{
	uint32_t tries = 0;
	struct outside of_first = {.tries = &tries};
	const struct entry *f, *g;

	while ((f = next_outside(j, &own->key, &of_first))) {
		struct outside of_second = {.tries = &tries, .one = 1};

		while ((g = next_outside(j, &own->key, &of_second)) && g->key.phase != f->key.phase)
			;
		if (!g)
			continue;
		own->bad = true;
		own->cut = (struct blocks_cut){.other = {f->at[0], g->at[0]},
					       .nother = 2,
					       .nsteps = 4,
					       .order = {0, 2, 3, 1}};
		return;
	}
	j->given_up += tries > TRIES;
}

/* Returns the first partner with these two variables. */
static uint32_t first_partner(const struct blocks_judge *j, const struct entry *own)
{
	struct entry probe = *own;
	uint32_t low = 0, high = j->partners->n;

	probe.at[0] = (struct blocks_ref){0};
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_life(&j->partners->v[mid], &probe) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void judge_pair(struct blocks_judge *j, struct entry *own)
{
	uint32_t tries = 0;

	for (uint32_t i = first_partner(j, own); i < j->partners->n; i++) {
		const struct entry *other = &j->partners->v[i];
		bool same = other->key.life[0] == own->key.life[0] &&
			    other->key.life[1] == own->key.life[1];

		if (!same && (other->key.life[0] != own->key.life[1] ||
			      other->key.life[1] != own->key.life[0]))
			break;
		if (++tries > TRIES) {
			j->given_up++;
			break;
		}
		if (judge_partner(j, own, other))
			return;
	}
	judge_outside(j, own);
}

void blocks_judge_init(struct blocks_judge *j, struct segments *u)
{
	*j = (struct blocks_judge){.u = u,
				   .points = new_table(),
				   .windows = new_table(),
				   .pairs = new_table(),
				   .partners = new_table()};
	add_points(j);
	index_points(j);
	add_blocks(j);
	add_partners(j);
	for (uint32_t i = 0; i < j->windows->n; i++)
		judge_window(j, &j->windows->v[i]);
	for (uint32_t i = 0; i < j->pairs->n; i++)
		judge_pair(j, &j->pairs->v[i]);
	j->blocks = (uint64_t)j->windows->n + j->pairs->n;
}

void blocks_judge_free(struct blocks_judge *j)
{
	blocks_walk_free(&j->walk);
	free_table(j->points);
	free_table(j->windows);
	free_table(j->pairs);
	free_table(j->partners);
	mem_free(j->first_point);
	mem_free(j->guards);
	*j = (struct blocks_judge){0};
}

struct asking {
	const struct blocks_judge *j;
	const struct segment *t;
	struct blocks_cut *cut;
	bool bad;
};

static bool ask_pair(void *arg, const struct blocks_pair *p)
{
	struct asking *a = arg;
	struct key key = pair_key(a->t, p);
	const struct entry *e = find_entry(a->j->pairs, &key);

	if (!e || !e->bad)
		return true;
	*a->cut = e->cut;
	a->cut->own[0] = p->op[0];
	a->cut->own[1] = p->op[1];
	a->bad = true;
	return false;
}

bool blocks_judge_segment(struct blocks_judge *j, const struct segment *t, struct blocks_cut *cut)
{
	struct asking a = {j, t, cut, false};

	blocks_walk(&j->walk, j->u, t);
	for (uint32_t i = 0; i < j->walk.nwindows; i++) {
		const struct blocks_window *w = &j->walk.window[i];
		struct key key = window_key(t, w);
		const struct entry *e = find_entry(j->windows, &key);

		if (!e || !e->bad)
			continue;
		*cut = e->cut;
		cut->own[0] = w->from;
		cut->own[1] = w->to;
		return true;
	}
	blocks_walk_pairs(&j->walk, j->u, t, ask_pair, &a);
	return a.bad;
}
