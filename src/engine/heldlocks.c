#include "engine/heldlocks.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"

#include "base/banned.h"

/*
 * A change: from a set, by acquiring or releasing a lock, to another set. A zeroed one is right: it
 * releases lock 0 from the empty set.
 */
struct heldlocks_step {
	heldset from;
	held what;
	heldset to;
	uint32_t in;
};
enum { STEPS = 1 << 14 };

struct heldlocks_past {
	held what;
	heldset before;
};

void heldlocks_init(struct heldlocks *h)
{
	*h = (struct heldlocks){.nsets = 1, .nslots = 64, .npool = 1};
	MEM_GROW0(h->pool, h->pool_cap, 1);
	h->slot = mem_zalloc(h->nslots * sizeof *h->slot);
	h->step = mem_zalloc(STEPS * sizeof *h->step);
}

void heldlocks_free(struct heldlocks *h)
{
	mem_free(h->pool);
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
		struct heldset_view set = heldlocks_view(h, h->slot[i]);

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
	for (size_t s = 1; s < h->npool; s += 1 + h->pool[s]) {
		struct heldset_view set = heldlocks_view(h, (heldset)s);

		*find_slot(h, set.v, set.n) = (heldset)s;
	}
}

/* Returns the number of the set that is in `scratch`. */
static heldset intern_set(struct heldlocks *h, uint32_t n)
{
	heldset *slot, s;

	if (!n)
		return HELD_NONE;
	slot = find_slot(h, h->scratch, n);
	s = *slot;
	if (s)
		return s;
	if (h->npool + n >= UINT32_MAX)
		mem_exhausted(h->npool * sizeof *h->pool);
	*slot = s = (heldset)h->npool;
	h->nsets++;
	MEM_GROW(h->pool, h->pool_cap, h->npool + n + 1);
	h->pool[s] = n;
	memcpy(h->pool + s + 1, h->scratch, n * sizeof *h->pool);
	h->npool += n + 1;
	if (h->nsets > h->nslots / 4 * 3)
		rehash_sets(h);
	return s;
}

static heldset add_lock(struct heldlocks *h, heldset from, held what)
{
	struct heldset_view set = heldlocks_view(h, from);
	uint32_t n = 0, i = 0;

	MEM_GROW(h->scratch, h->scratch_cap, set.n + 1);
	while (i < set.n && set.v[i] < what)
		h->scratch[n++] = set.v[i++];
	h->scratch[n++] = what;
	while (i < set.n)
		h->scratch[n++] = set.v[i++];
	return intern_set(h, n);
}

static heldset remove_lock(struct heldlocks *h, heldset from, held what)
{
	struct heldset_view set = heldlocks_view(h, from);
	uint32_t n = 0;

	MEM_GROW(h->scratch, h->scratch_cap, set.n);
	for (uint32_t i = 0; i < set.n; i++)
		if (set.v[i] != what)
			h->scratch[n++] = set.v[i];
	return intern_set(h, n);
}

static heldset take_step(struct heldlocks *h, heldset from, held what, bool in)
{
	uint64_t mixed = ((uint64_t)from << 32 | what) * 0x9e3779b97f4a7c15ull + in;
	struct heldlocks_step *step = &h->step[(mixed >> 32 ^ mixed) % STEPS];

	if (step->from != from || step->what != what || step->in != in) {
		heldset to = in ? add_lock(h, from, what) : remove_lock(h, from, what);

		*step = (struct heldlocks_step){from, what, to, in};
	}
	return step->to;
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
		/* Released out of order: the earlier sets are no longer what releases lead back to.
		 */
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
	return n == set.n ? s : intern_set(h, n);
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
	return intern_set(h, n);
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
	return intern_set(h, n);
}
