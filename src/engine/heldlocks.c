#include "engine/heldlocks.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"

#include "base/banned.h"

/* From a set, by taking a lock in or out, to a set. */
struct heldlocks_step {
	uint64_t key; /* see step_key(); 0: empty */
	heldset to;
};

struct heldlocks_past {
	held what;
	heldset before;
};

/* Never 0. */
static uint64_t step_key(heldset from, held what, bool in)
{
	return (((uint64_t)from + 1) << 32 | what) << 1 | in;
}

void heldlocks_init(struct heldlocks *h)
{
	*h = (struct heldlocks){.nsets = 1, .nslots = 64, .step_slots = 256};
	MEM_GROW(h->pool, h->pool_cap, 1);
	MEM_GROW0(h->start, h->start_cap, 2);
	h->slot = mem_zalloc(h->nslots * sizeof *h->slot);
	h->step = mem_zalloc(h->step_slots * sizeof *h->step);
}

void heldlocks_free(struct heldlocks *h)
{
	mem_free(h->pool);
	mem_free(h->start);
	mem_free(h->slot);
	mem_free(h->step);
	for (size_t i = 0; i < h->thread_cap; i++)
		mem_free(h->thread[i].past);
	mem_free(h->thread);
	mem_free(h->scratch);
	*h = (struct heldlocks){0};
}

void heldlocks_room(struct heldlocks *h, uint32_t nthreads)
{
	MEM_GROW0(h->thread, h->thread_cap, nthreads);
}

static uint32_t hash_set(const held *v, uint32_t n)
{
	return (uint32_t)XXH3_64bits(v, n * sizeof *v);
}

static heldset *find_slot(const struct heldlocks *h, const held *v, uint32_t n)
{
	uint32_t i = hash_set(v, n) & (h->nslots - 1);

	for (; h->slot[i]; i = (i + 1) & (h->nslots - 1)) {
		struct heldset_view set = heldlocks_view(h, h->slot[i] - 1);

		if (set.n == n && !memcmp(set.v, v, n * sizeof *v))
			break;
	}
	return &h->slot[i];
}

static void rehash_sets(struct heldlocks *h)
{
	mem_free(h->slot);
	h->nslots *= 2;
	h->slot = mem_zalloc(h->nslots * sizeof *h->slot);
	for (heldset s = 1; s < h->nsets; s++) {
		struct heldset_view set = heldlocks_view(h, s);

		*find_slot(h, set.v, set.n) = s + 1;
	}
}

/* The number of the set that stands in `scratch`. */
static heldset intern(struct heldlocks *h, uint32_t n)
{
	heldset *slot, s;

	if (!n)
		return HELD_NONE;
	slot = find_slot(h, h->scratch, n);
	if (*slot)
		return *slot - 1;
	s = h->nsets++;
	*slot = s + 1;
	MEM_GROW(h->pool, h->pool_cap, h->npool + n);
	memcpy(h->pool + h->npool, h->scratch, n * sizeof *h->pool);
	h->npool += n;
	MEM_GROW(h->start, h->start_cap, (size_t)s + 2);
	h->start[s + 1] = h->npool;
	if (h->nsets > h->nslots / 2)
		rehash_sets(h);
	return s;
}

static heldset with(struct heldlocks *h, heldset from, held what)
{
	struct heldset_view set = heldlocks_view(h, from);
	uint32_t n = 0, i = 0;

	MEM_GROW(h->scratch, h->scratch_cap, set.n + 1);
	while (i < set.n && set.v[i] < what)
		h->scratch[n++] = set.v[i++];
	h->scratch[n++] = what;
	while (i < set.n)
		h->scratch[n++] = set.v[i++];
	return intern(h, n);
}

static heldset without(struct heldlocks *h, heldset from, held what)
{
	struct heldset_view set = heldlocks_view(h, from);
	uint32_t n = 0;

	MEM_GROW(h->scratch, h->scratch_cap, set.n);
	for (uint32_t i = 0; i < set.n; i++)
		if (set.v[i] != what)
			h->scratch[n++] = set.v[i];
	return intern(h, n);
}

static struct heldlocks_step *find_step(const struct heldlocks *h, uint64_t key)
{
	uint64_t mixed = key * 0x9e3779b97f4a7c15ull;
	uint32_t i = (uint32_t)(mixed >> 32 ^ mixed) & (h->step_slots - 1);

	while (h->step[i].key && h->step[i].key != key)
		i = (i + 1) & (h->step_slots - 1);
	return &h->step[i];
}

static void rehash_steps(struct heldlocks *h)
{
	struct heldlocks_step *old = h->step;
	uint32_t n = h->step_slots;

	h->step_slots *= 2;
	h->step = mem_zalloc(h->step_slots * sizeof *h->step);
	for (uint32_t i = 0; i < n; i++)
		if (old[i].key)
			*find_step(h, old[i].key) = old[i];
	mem_free(old);
}

static heldset take_step(struct heldlocks *h, heldset from, held what, bool in)
{
	uint64_t key = step_key(from, what, in);
	struct heldlocks_step *step = find_step(h, key);
	heldset to = step->to;

	if (!step->key) {
		to = in ? with(h, from, what) : without(h, from, what);
		*step = (struct heldlocks_step){key, to};
		if (++h->nsteps > h->step_slots / 2)
			rehash_steps(h);
	}
	return to;
}

void heldlocks_take(struct heldlocks *h, const struct event *e)
{
	bool exclusive = e->op == OP_ACQUIRE || e->op == OP_RELEASE;
	bool in = e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED;
	held what = e->operand << 1 | exclusive;
	struct heldlocks_thread *t = &h->thread[e->thread];

	if (in) {
		MEM_GROW(t->past, t->cap, (size_t)t->n + 1);
		t->past[t->n++] = (struct heldlocks_past){what, t->now};
	} else if (t->n && t->past[t->n - 1].what == what) {
		t->now = t->past[--t->n].before;
		return;
	} else {
		/* Out of order: the sets before it are no way back any more. */
		h->unnested += t->n != 0;
		t->n = 0;
	}
	t->now = take_step(h, t->now, what, in);
}

bool heldlocks_exclude(const struct heldlocks *h, heldset a, heldset b)
{
	struct heldset_view x = heldlocks_view(h, a), y = heldlocks_view(h, b);

	for (uint32_t i = 0, k = 0; i < x.n && k < y.n;) {
		if (held_conflict(x.v[i], y.v[k]))
			return true;
		if (x.v[i] < y.v[k])
			i++;
		else
			k++;
	}
	return false;
}

bool heldlocks_include(const struct heldlocks *h, heldset whole, heldset part)
{
	struct heldset_view x = heldlocks_view(h, whole), y = heldlocks_view(h, part);
	uint32_t i = 0;

	for (uint32_t k = 0; k < y.n; k++) {
		while (i < x.n && held_lock(x.v[i]) < held_lock(y.v[k]))
			i++;
		if (i == x.n || held_lock(x.v[i]) != held_lock(y.v[k]) || x.v[i] < y.v[k])
			return false;
	}
	return true;
}

heldset heldlocks_exclusive(struct heldlocks *h, heldset s)
{
	struct heldset_view set = heldlocks_view(h, s);
	uint32_t n = 0;

	MEM_GROW(h->scratch, h->scratch_cap, set.n);
	for (uint32_t i = 0; i < set.n; i++)
		if (held_exclusive(set.v[i]))
			h->scratch[n++] = set.v[i];
	return n == set.n ? s : intern(h, n);
}

heldset heldlocks_common(struct heldlocks *h, heldset a, heldset b)
{
	struct heldset_view x = heldlocks_view(h, a), y = heldlocks_view(h, b);
	uint32_t n = 0;

	if (a == b)
		return a;
	MEM_GROW(h->scratch, h->scratch_cap, x.n);
	for (uint32_t i = 0, k = 0; i < x.n && k < y.n;) {
		if (held_lock(x.v[i]) == held_lock(y.v[k]))
			h->scratch[n++] = x.v[i] & y.v[k];
		if (x.v[i] < y.v[k])
			i++;
		else
			k++;
	}
	return intern(h, n);
}

heldset heldlocks_union(struct heldlocks *h, heldset a, heldset b)
{
	struct heldset_view x = heldlocks_view(h, a), y = heldlocks_view(h, b);
	uint32_t n = 0, i = 0, k = 0;

	if (a == b || !y.n)
		return a;
	if (!x.n)
		return b;
	MEM_GROW(h->scratch, h->scratch_cap, (size_t)x.n + y.n);
	while (i < x.n && k < y.n) {
		if (held_lock(x.v[i]) == held_lock(y.v[k]))
			h->scratch[n++] = x.v[i++] | y.v[k++];
		else
			h->scratch[n++] = x.v[i] < y.v[k] ? x.v[i++] : y.v[k++];
	}
	while (i < x.n)
		h->scratch[n++] = x.v[i++];
	while (k < y.n)
		h->scratch[n++] = y.v[k++];
	return intern(h, n);
}
