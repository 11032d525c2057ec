/* The blocks of one segment. */
#include <string.h>

#include "base/mem.h"
#include "engine/blocks/blocks.h"

#include "base/banned.h"

/* The last points of a variable so far. Values are 1 + the index of a point. */
struct blocks_last {
	uint32_t life, read, write;
	bool used;
};

static struct blocks_last *find_last(const struct blocks_walk *w, size_t slots, uint32_t life)
{
	size_t i = life * 0x9e3779b1u & (slots - 1);

	while (w->last[i].used && w->last[i].life != life)
		i = (i + 1) & (slots - 1);
	return &w->last[i];
}

/* Build a binary tree over the operations: the locks held throughout each range. */
static void build_tree(struct blocks_walk *w, struct segments *u, const struct segment *t)
{
	const struct segment_op *op = segment_ops(u, t);

	MEM_GROW(w->tree, w->tree_cap, 2 * (size_t)t->n);
	for (uint32_t i = 0; i < t->n; i++)
		w->tree[t->n + i] = op[i].held;
	for (uint32_t i = t->n - 1; i > 0; i--)
		w->tree[i] = heldlocks_common(&u->held, w->tree[2 * i], w->tree[2 * i + 1]);
}

static heldset locks_across(const struct blocks_walk *w, struct segments *u,
			    const struct segment *t, uint32_t from, uint32_t to)
{
	size_t l = (size_t)from + t->n, r = (size_t)to + t->n + 1;
	heldset set = w->tree[l];

	for (; l < r; l /= 2, r /= 2) {
		if (l & 1)
			set = heldlocks_common(&u->held, set, w->tree[l++]);
		if (r & 1)
			set = heldlocks_common(&u->held, set, w->tree[--r]);
	}
	return set;
}

static void add_window(struct blocks_walk *w, struct segments *u, const struct segment *t,
		       uint32_t a, uint32_t b, uint8_t enemy)
{
	MEM_GROW(w->window, w->window_cap, (size_t)w->nwindows + 1);
	w->window[w->nwindows++] = (struct blocks_window){
		.life = w->point[a].life,
		.from = w->point[a].op,
		.to = w->point[b].op,
		.enemy = enemy,
		.across = locks_across(w, u, t, w->point[a].op, w->point[b].op)};
}

/*
 * Add the 1v-blocks that end with point i: with an access of another thread between the
 * two that no serial order of the transactions explains.
 */
static void end_windows(struct blocks_walk *w, struct segments *u, const struct segment *t,
			uint32_t i, const struct blocks_last *last)
{
	const struct blocks_point *p = &w->point[i];

	if (p->reads && last->write)
		add_window(w, u, t, last->write - 1, i, BLOCKS_WRITE);
	else if (p->reads && last->read)
		add_window(w, u, t, last->read - 1, i, BLOCKS_WRITE);
	if (p->writes && last->write)
		add_window(w, u, t, last->write - 1, i, BLOCKS_INITIAL);
}

/* Add the windows from each initial read to the final write after it. */
static void final_windows(struct blocks_walk *w, struct segments *u, const struct segment *t,
			  size_t slots)
{
	for (uint32_t i = 0; i < w->npoints; i++) {
		const struct blocks_last *last = find_last(w, slots, w->point[i].life);

		if (w->point[i].kind & BLOCKS_INITIAL && last->write && last->write - 1 > i)
			add_window(w, u, t, i, last->write - 1, BLOCKS_FINAL);
	}
}

static void add_points(struct blocks_walk *w, const struct segments *u, const struct segment *t)
{
	const struct segment_op *op = segment_ops(u, t);

	w->npoints = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		struct blocks_point new = {.life = op[i].what, .op = i, .held = op[i].held};

		if (!op_is_access(op[i].op))
			continue;
		new.reads = op[i].op != OP_WRITE;
		new.writes = op[i].op != OP_READ;
		new.kind = new.writes ? BLOCKS_WRITE : 0;
		if (!t->transaction)
			new.kind |=
				(new.reads ? BLOCKS_INITIAL : 0) | (new.writes ? BLOCKS_FINAL : 0);
		MEM_GROW(w->point, w->point_cap, (size_t)w->npoints + 1);
		w->point[w->npoints++] = new;
	}
}

void blocks_walk(struct blocks_walk *w, struct segments *u, const struct segment *t)
{
	size_t slots = 16;

	w->nwindows = 0;
	add_points(w, u, t);
	if (!t->transaction)
		return;
	while (slots < 2 * (size_t)w->npoints)
		slots *= 2;
	MEM_GROW(w->last, w->last_cap, slots);
	memset(w->last, 0, slots * sizeof *w->last);
	build_tree(w, u, t);
	for (uint32_t i = 0; i < w->npoints; i++) {
		struct blocks_point *p = &w->point[i];
		struct blocks_last *last = find_last(w, slots, p->life);

		last->life = p->life;
		last->used = true;
		if (p->reads && !last->write)
			p->kind |= BLOCKS_INITIAL;
		end_windows(w, u, t, i, last);
		if (p->reads)
			last->read = i + 1;
		if (p->writes)
			last->write = i + 1;
	}
	for (size_t i = 0; i < slots; i++)
		if (w->last[i].used && w->last[i].write)
			w->point[w->last[i].write - 1].kind |= BLOCKS_FINAL;
	final_windows(w, u, t, slots);
}

heldset blocks_walk_used(struct segments *u, const struct segment *t, uint32_t from, uint32_t to)
{
	const struct segment_op *op = segment_ops(u, t);
	heldset set = op[from].held;

	for (uint32_t i = from + 1; i <= to; i++)
		set = heldlocks_union(&u->held, set, op[i].held);
	return set;
}

void blocks_walk_pairs(struct blocks_walk *w, struct segments *u, const struct segment *t,
		       bool (*each)(void *arg, const struct blocks_pair *p), void *arg)
{
	uint32_t n = 0, reach;

	for (uint32_t i = 0; i < w->npoints; i++) {
		if (!(w->point[i].kind & (BLOCKS_INITIAL | BLOCKS_FINAL)))
			continue;
		MEM_GROW(w->end, w->end_cap, (size_t)n + 1);
		w->end[n++] = i;
	}
	w->nends = n;
	w->wide = n > BLOCKS_WIDE;
	reach = w->wide ? BLOCKS_WIDE * BLOCKS_WIDE / 2 / n + 1 : n;
	for (uint32_t i = 0; i < n; i++) {
		const struct blocks_point *a = &w->point[w->end[i]];

		for (uint32_t k = i + 1; k < n && k - i <= reach; k++) {
			const struct blocks_point *b = &w->point[w->end[k]];
			struct blocks_pair p;

			if (a->life == b->life)
				continue;
			p = (struct blocks_pair){
				.life = {a->life, b->life},
				.op = {a->op, b->op},
				.kind = {a->kind & (BLOCKS_INITIAL | BLOCKS_FINAL),
					 b->kind & (BLOCKS_INITIAL | BLOCKS_FINAL)},
				.across = locks_across(w, u, t, a->op, b->op),
				.held = {a->held, b->held}};
			if (!each(arg, &p))
				return;
		}
	}
}

void blocks_walk_free(struct blocks_walk *w)
{
	mem_free(w->point);
	mem_free(w->window);
	mem_free(w->tree);
	mem_free(w->last);
	mem_free(w->end);
	*w = (struct blocks_walk){0};
}
