/*
 * Paths and sorts are numbered once for the whole trace, so that equal ones are
 * equal numbers. The accesses of a segment are collected by variable and sort; of each
 * the first and the last are kept. That trims more than two accesses for each lock
 * block, and the proof is short: accesses of one sort meet the same others in nodes of
 * the same depth, and if two of these nodes are separate from each other (or from a
 * third), then the earliest or the latest is, too.
 */
#include "engine/commit/commit.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* A lock that the segment holds. */
struct commit_open {
	held what;
	uint32_t block, path; /* path: up to this lock, inclusive */
};

/* The last write of a variable in this segment so far. */
struct commit_wrote {
	uint32_t var, path;
	struct commit_at at;
};

/* A slot of the hash of the segment: leaves by variable and sort, and its writes by variable. */
struct commit_slot {
	uint32_t stamp, var, sort, index;
};
enum { WROTE = UINT32_MAX }; /* in place of a sort */

static uint64_t mix_hash(uint64_t h, uint64_t more)
{
	h = (h ^ more) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static size_t hash_path(uint32_t parent, held last)
{
	return mix_hash(mix_hash(7, parent), last);
}

static size_t hash_sort(const struct commit_sort *s)
{
	return mix_hash(mix_hash(11, (uint64_t)s->path << 32 | s->reader),
			(uint64_t)s->kind << 16 | s->open_from);
}

static void grow_slots(uint32_t **slot, size_t *n, size_t used)
{
	if (*n && used < *n / 2)
		return;
	mem_free(*slot);
	*n = *n ? 2 * *n : 64;
	*slot = mem_zalloc(*n * sizeof **slot);
}

static void place_path(struct commit_sorts *s, uint32_t p)
{
	const struct commit_path *path = &s->path[p];
	size_t i = hash_path(path->parent, s->held[path->start + path->depth - 1]);

	for (i &= s->path_slots - 1; s->path_slot[i]; i = (i + 1) & (s->path_slots - 1))
		;
	s->path_slot[i] = p + 1;
}

/* Returns the path with one lock more. */
static uint32_t path_with(struct commit_sorts *s, uint32_t parent, held last)
{
	size_t i, before = s->path_slots;
	uint32_t depth = s->path[parent].depth, p;

	for (i = hash_path(parent, last) & (s->path_slots - 1); s->path_slot[i];
	     i = (i + 1) & (s->path_slots - 1)) {
		p = s->path_slot[i] - 1;
		if (s->path[p].parent == parent && s->held[s->path[p].start + depth] == last)
			return p;
	}
	p = (uint32_t)s->npaths;
	MEM_GROW(s->path, s->path_cap, s->npaths + 1);
	MEM_GROW(s->held, s->held_cap, s->nheld + depth + 1);
	s->path[p] = (struct commit_path){s->nheld, parent, depth + 1};
	memcpy(s->held + s->nheld, s->held + s->path[parent].start, depth * sizeof *s->held);
	s->held[s->nheld + depth] = last;
	s->nheld += depth + 1;
	s->npaths++;
	grow_slots(&s->path_slot, &s->path_slots, s->npaths);
	for (uint32_t k = before == s->path_slots ? p : 1; k < s->npaths; k++)
		place_path(s, k);
	return p;
}

static void place_sort(struct commit_sorts *s, uint32_t n)
{
	size_t i = hash_sort(&s->sort[n]) & (s->sort_slots - 1);

	for (; s->sort_slot[i]; i = (i + 1) & (s->sort_slots - 1))
		;
	s->sort_slot[i] = n + 1;
}

static uint32_t number_sort(struct commit_sorts *s, struct commit_sort new)
{
	size_t before = s->sort_slots, i = hash_sort(&new) & (s->sort_slots - 1);
	uint32_t n = (uint32_t)s->nsorts;

	for (; s->sort_slot[i]; i = (i + 1) & (s->sort_slots - 1)) {
		const struct commit_sort *old = &s->sort[s->sort_slot[i] - 1];

		if (old->path == new.path && old->reader == new.reader && old->kind == new.kind &&
		    old->open_from == new.open_from)
			return s->sort_slot[i] - 1;
	}
	MEM_GROW(s->sort, s->sort_cap, s->nsorts + 1);
	s->sort[s->nsorts++] = new;
	grow_slots(&s->sort_slot, &s->sort_slots, s->nsorts);
	for (uint32_t k = before == s->sort_slots ? n : 0; k < s->nsorts; k++)
		place_sort(s, k);
	return n;
}

void commit_sorts_init(struct commit_sorts *s)
{
	*s = (struct commit_sorts){.npaths = 1};
	MEM_GROW0(s->path, s->path_cap, 1);
	grow_slots(&s->path_slot, &s->path_slots, 0);
	grow_slots(&s->sort_slot, &s->sort_slots, 0);
}

void commit_sorts_free(struct commit_sorts *s)
{
	mem_free(s->path);
	mem_free(s->held);
	mem_free(s->sort);
	mem_free(s->path_slot);
	mem_free(s->sort_slot);
	*s = (struct commit_sorts){0};
}

void commit_leaves_free(struct commit_leaves *l)
{
	mem_free(l->v);
	mem_free(l->block);
	mem_free(l->chain);
	mem_free(l->open);
	mem_free(l->wrote);
	mem_free(l->slot);
	*l = (struct commit_leaves){0};
}

static size_t slot_of(const struct commit_leaves *l, uint32_t var, uint32_t sort)
{
	size_t i = mix_hash(mix_hash(3, var), sort) & (l->nslots - 1);

	while (l->slot[i].stamp == l->stamp && (l->slot[i].var != var || l->slot[i].sort != sort))
		i = (i + 1) & (l->nslots - 1);
	return i;
}

/* Returns the slot of this variable and sort, or a free one: its stamp is not the current one. */
static struct commit_slot *find_slot(struct commit_leaves *l, uint32_t var, uint32_t sort)
{
	if (2 * (l->used + 1) > l->nslots) {
		size_t n = l->nslots;
		struct commit_slot *old = l->slot;

		l->nslots = n ? 2 * n : 64;
		l->slot = mem_zalloc(l->nslots * sizeof *l->slot);
		for (size_t i = 0; i < n; i++)
			if (old[i].stamp == l->stamp)
				l->slot[slot_of(l, old[i].var, old[i].sort)] = old[i];
		mem_free(old);
	}
	return &l->slot[slot_of(l, var, sort)];
}

/* Fill a slot. Returns false if it is filled already. */
static bool fill_slot(struct commit_leaves *l, struct commit_slot *slot, uint32_t var,
		      uint32_t sort, size_t index)
{
	if (slot->stamp == l->stamp)
		return false;
	*slot = (struct commit_slot){l->stamp, var, sort, (uint32_t)index};
	l->used++;
	return true;
}

/* Returns the access with the lock blocks that are open now. */
static struct commit_at access_here(struct commit_leaves *l, uint32_t op)
{
	struct commit_at at = {op, (uint32_t)l->nchain};

	MEM_GROW(l->chain, l->chain_cap, l->nchain + l->nopen);
	for (size_t i = 0; i < l->nopen; i++)
		l->chain[l->nchain++] = l->open[i].block;
	return at;
}

static void add_leaf(struct commit_leaves *l, struct commit_sorts *s, uint32_t var,
		     struct commit_sort sort, struct commit_at at)
{
	uint32_t n = number_sort(s, sort);
	struct commit_slot *slot = find_slot(l, var, n);

	if (!fill_slot(l, slot, var, n, l->n)) {
		l->v[slot->index].last = at;
		return;
	}
	MEM_GROW(l->v, l->cap, l->n + 1);
	l->v[l->n++] = (struct commit_leaf){var, n, at, at};
}

static uint32_t path_now(const struct commit_leaves *l)
{
	return l->nopen ? l->open[l->nopen - 1].path : 0;
}

static void add_read(struct commit_leaves *l, struct commit_sorts *s, uint32_t var,
		     struct commit_at at, const struct commit_wrote *wrote)
{
	struct commit_sort sort = {.kind = COMMIT_READ, .path = path_now(l)};

	if (wrote) {
		sort.open_from = 1;
		for (size_t i = 0; i < l->nopen && l->block[l->open[i].block].start < wrote->at.op;
		     i++)
			sort.open_from++;
	}
	add_leaf(l, s, var, sort, at);
	if (wrote) {
		sort.kind = COMMIT_OWN;
		sort.reader = sort.path;
		sort.path = wrote->path;
		add_leaf(l, s, var, sort, wrote->at);
	}
}

static void add_write(struct commit_leaves *l, struct commit_sorts *s, uint32_t var,
		      struct commit_at at)
{
	add_leaf(l, s, var, (struct commit_sort){.kind = COMMIT_WRITE, .path = path_now(l)}, at);
}

static void take_access(struct commit_leaves *l, struct commit_sorts *s,
			const struct segment_op *op, uint32_t i, bool view, bool transaction)
{
	struct commit_at at = access_here(l, i);
	const struct commit_wrote *wrote = NULL;
	struct commit_slot *slot;

	if (!view) {
		if (op->op == OP_READ)
			add_read(l, s, op->what, at, NULL);
		else
			add_write(l, s, op->what, at);
		return;
	}
	/* Outside blocks, each operation counts as a segment by itself. */
	if (!transaction) {
		if (op->op != OP_WRITE)
			add_read(l, s, op->what, at, NULL);
		if (op->op == OP_READ)
			return;
		add_write(l, s, op->what, at);
		add_leaf(l, s, op->what,
			 (struct commit_sort){.kind = COMMIT_FINAL, .path = path_now(l)}, at);
		return;
	}
	slot = find_slot(l, op->what, WROTE);
	if (slot->stamp == l->stamp)
		wrote = &l->wrote[slot->index];
	if (op->op != OP_WRITE)
		add_read(l, s, op->what, at, wrote);
	if (op->op == OP_READ)
		return;
	add_write(l, s, op->what, at);
	slot = find_slot(l, op->what, WROTE);
	if (fill_slot(l, slot, op->what, WROTE, l->nwrote)) {
		MEM_GROW(l->wrote, l->wrote_cap, l->nwrote + 1);
		l->nwrote++;
	}
	l->wrote[slot->index] = (struct commit_wrote){op->what, path_now(l), at};
}

static void take_acquire(struct commit_leaves *l, struct commit_sorts *s,
			 const struct segment_op *op, uint32_t i, uint32_t end)
{
	held what = op->what << 1 | (op->op == OP_ACQUIRE);
	uint32_t path = path_with(s, path_now(l), what);

	MEM_GROW(l->open, l->open_cap, l->nopen + 1);
	MEM_GROW(l->block, l->block_cap, l->nblocks + 1);
	l->open[l->nopen++] = (struct commit_open){what, (uint32_t)l->nblocks, path};
	l->block[l->nblocks++] = (struct commit_block){i, end};
}

/* Release a lock at any position among those held. */
static void release_lock(struct commit_leaves *l, struct commit_sorts *s, uint32_t lock, uint32_t i)
{
	size_t k = l->nopen;

	while (k > 0 && held_lock(l->open[k - 1].what) != lock)
		k--;
	if (!k)
		return;
	l->block[l->open[k - 1].block].end = i;
	memmove(&l->open[k - 1], &l->open[k], (l->nopen - k) * sizeof *l->open);
	l->nopen--;
	for (; k <= l->nopen; k++)
		l->open[k - 1].path =
			path_with(s, k > 1 ? l->open[k - 2].path : 0, l->open[k - 1].what);
}

void commit_leaves_of(struct commit_leaves *l, struct commit_sorts *s, const struct segments *u,
		      const struct segment *t, bool view)
{
	const struct segment_op *op = segment_ops(u, t);

	l->n = l->nblocks = l->nchain = l->nopen = l->nwrote = l->used = 0;
	if (!++l->stamp) {
		memset(l->slot, 0, l->nslots * sizeof *l->slot);
		l->stamp = 1;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		if (op_is_access(op[i].op))
			take_access(l, s, &op[i], i, view, t->transaction);
		else if (op[i].op == OP_ACQUIRE || op[i].op == OP_ACQUIRE_SHARED)
			take_acquire(l, s, &op[i], i, t->n);
		else
			release_lock(l, s, op[i].what, i);
	}
	for (size_t i = 0; view && i < l->nwrote; i++)
		add_leaf(l, s, l->wrote[i].var,
			 (struct commit_sort){.kind = COMMIT_FINAL, .path = l->wrote[i].path},
			 l->wrote[i].at);
}
