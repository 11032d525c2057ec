#include "engine/race.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* Comparisons for one record before it is taken for contended. */
enum { TRIES = 1 << 14 };

#define LOCK (1ull << 63)

struct record {
	uint64_t what; /* a variable's life, or a lock with LOCK set */
	uint32_t period;
	heldset held;
	uint32_t number, size; /* how many locks */
	bool reads;            /* or shares */
};

struct record_table {
	struct record *v;
	size_t cap;
	uint32_t n, *slot; /* hash: 1 + index */
	size_t nslots;
};

static uint64_t hash(const struct record *r)
{
	uint64_t h = r->what * 0x9e3779b97f4a7c15ull;

	h ^= ((uint64_t)r->period << 33 | (uint64_t)r->held << 1 | r->reads) +
	     0xbf58476d1ce4e5b9ull;
	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static uint32_t *find(const struct record_table *t, const struct record *r)
{
	size_t i = hash(r) & (t->nslots - 1);

	for (; t->slot[i]; i = (i + 1) & (t->nslots - 1)) {
		const struct record *old = &t->v[t->slot[i] - 1];

		if (old->what == r->what && old->period == r->period && old->held == r->held &&
		    old->reads == r->reads)
			break;
	}
	return &t->slot[i];
}

static void rehash(struct record_table *t)
{
	mem_free(t->slot);
	t->nslots = t->nslots ? 2 * t->nslots : 1024;
	t->slot = mem_zalloc(t->nslots * sizeof *t->slot);
	for (uint32_t i = 0; i < t->n; i++)
		*find(t, &t->v[i]) = i + 1;
}

static uint32_t number(struct record_table *t, const struct record *r)
{
	uint32_t *slot;

	if (t->n * 2 >= t->nslots)
		rehash(t);
	slot = find(t, r);
	if (!*slot) {
		MEM_GROW(t->v, t->cap, (size_t)t->n + 1);
		t->v[t->n] = *r;
		t->v[t->n].number = t->n;
		*slot = ++t->n;
	}
	return *slot - 1;
}

static void collect(struct races *r, struct record_table *t, const struct units *u)
{
	for (size_t i = 0; i < u->n; i++) {
		const struct unit *unit = &u->unit[i];

		for (uint32_t k = 0; k < unit->n; k++) {
			const struct unit_op *op = unit_ops(u, unit) + k;
			struct record new = {.what = op->what,
					     .period = unit->period,
					     .held = op->held,
					     .size = heldlocks_view(&u->held, op->held).n};

			new.reads = op->op == OP_READ || op->op == OP_ACQUIRE_SHARED ||
				    op->op == OP_RELEASE_SHARED;
			if (op_is_lock(op->op))
				new.what |= LOCK;
			r->record[unit->first + k] = number(t, &new);
		}
	}
}

static int by_what(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Is there a lock that all hold, those that write exclusively? */
static bool all_guarded(struct units *u, const struct record *v, uint32_t n)
{
	heldset guards = v[0].reads ? v[0].held : heldlocks_exclusive(&u->held, v[0].held);

	for (uint32_t i = 1; i < n && guards; i++) {
		heldset mine = v[i].reads ? v[i].held : heldlocks_exclusive(&u->held, v[i].held);

		guards = heldlocks_common(&u->held, guards, mine);
	}
	return guards != HELD_NONE;
}

/* How many of the records, from the first, a record is compared with. */
static uint32_t tries(uint32_t n)
{
	return n < TRIES ? n : TRIES;
}

/* The first record that this one does not commute with, n if there is none. */
static uint32_t rival(struct races *r, const struct units *u, const struct record *v, uint32_t n,
		      uint32_t i)
{
	uint32_t k = 0;

	while (k < tries(n) &&
	       ((v[i].reads && v[k].reads) || !units_concurrent(u, v[i].period, v[k].period) ||
		heldlocks_exclude(&u->held, v[i].held, v[k].held)))
		k++;
	r->assumed += k == TRIES && k < n;
	return k;
}

static void judge_lock(struct races *r, const struct units *u, const struct record *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		r->contended[v[i].number] = rival(r, u, v, n, i) < n;
}

/* A variable that may race does so at each access beside which there can be another. */
static void judge_variable(struct races *r, const struct units *u, const struct record *v,
			   uint32_t n)
{
	bool races = false;

	for (uint32_t i = 0; i < n && !races; i++)
		races = rival(r, u, v, n, i) < n;
	for (uint32_t i = 0; i < n && races; i++) {
		uint32_t k = 0;

		while (k < tries(n) && !units_concurrent(u, v[i].period, v[k].period))
			k++;
		r->assumed += k == TRIES && k < n;
		r->contended[v[i].number] = k < n;
	}
}

static void judge(struct races *r, struct units *u, const struct record *v, uint32_t n)
{
	bool only_reads = true;

	for (uint32_t i = 0; i < n; i++)
		only_reads &= v[i].reads;
	if (only_reads || all_guarded(u, v, n))
		return;
	if (v[0].what & LOCK)
		judge_lock(r, u, v, n);
	else
		judge_variable(r, u, v, n);
}

void races_find(struct races *r, struct units *u)
{
	struct record_table t = {0};
	uint32_t from = 0;

	*r = (struct races){.record = mem_alloc((u->nops + 1) * sizeof *r->record)};
	collect(r, &t, u);
	r->nrecords = t.n;
	r->contended = mem_zalloc((size_t)t.n + 1);
	if (t.n)
		qsort(t.v, t.n, sizeof *t.v, by_what);
	for (uint32_t i = 1; i <= t.n; i++) {
		if (i < t.n && t.v[i].what == t.v[from].what)
			continue;
		judge(r, u, t.v + from, i - from);
		from = i;
	}
	mem_free(t.v);
	mem_free(t.slot);
}

void races_free(struct races *r)
{
	mem_free(r->record);
	mem_free(r->contended);
	*r = (struct races){0};
}
