#include "engine/lock/race.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* Comparisons for one record before it is assumed to be contended. */
enum { TRIES = 1 << 14 };

/* What counts about an operation, among those on the same variable or lock. */
struct use {
	uint64_t op; /* twice its number, plus 1 if it is a read, or shared */
	union {
		uint32_t phase;
		uint32_t record; /* once it is known */
	};
	heldset held;
};

struct record {
	uint32_t phase;
	heldset held;
	uint32_t number, size; /* size: how many locks */
	bool reads;
};

struct record_table {
	struct record *v;
	size_t cap;
	uint32_t n, *slot; /* hash: 1 + index */
	size_t nslots;
	bool *contended; /* by number */
	size_t contended_cap;
};

static uint64_t hash_record(const struct record *r)
{
	uint64_t h = ((uint64_t)r->phase << 32 | r->held) * 0x9e3779b97f4a7c15ull + r->reads;

	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static uint32_t *find_slot(const struct record_table *t, const struct record *r)
{
	size_t i = hash_record(r) & (t->nslots - 1);

	for (; t->slot[i]; i = (i + 1) & (t->nslots - 1)) {
		const struct record *old = &t->v[t->slot[i] - 1];

		if (old->phase == r->phase && old->held == r->held && old->reads == r->reads)
			break;
	}
	return &t->slot[i];
}

static void grow_slots(struct record_table *t)
{
	mem_free(t->slot);
	t->nslots = t->nslots ? 2 * t->nslots : 64;
	t->slot = mem_zalloc(t->nslots * sizeof *t->slot);
	for (uint32_t i = 0; i < t->n; i++)
		*find_slot(t, &t->v[i]) = i + 1;
}

static uint32_t intern_record(struct record_table *t, const struct record *r)
{
	uint32_t *slot;

	if (t->n * 2 >= t->nslots)
		grow_slots(t);
	slot = find_slot(t, r);
	if (!*slot) {
		MEM_GROW(t->v, t->cap, (size_t)t->n + 1);
		t->v[t->n] = *r;
		t->v[t->n].number = t->n;
		*slot = ++t->n;
	}
	return *slot - 1;
}

static void forget_records(struct record_table *t)
{
	/* If few of many slots are in use, clear them one by one. */
	if ((size_t)t->n * 16 < t->nslots)
		for (uint32_t i = 0; i < t->n; i++) {
			size_t k = hash_record(&t->v[i]) & (t->nslots - 1);

			for (; t->slot[k]; k = (k + 1) & (t->nslots - 1))
				t->slot[k] = 0;
		}
	else
		memset(t->slot, 0, t->nslots * sizeof *t->slot);
	t->n = 0;
}

/* Returns the number of what an operation is on: lives come first, then locks. */
static size_t number_of(const struct segments *u, const struct segment_op *op)
{
	return op_is_lock(op->op) ? (size_t)u->contention.nlives + op->what : op->what;
}

/* Sort the operations by that number (a counting sort): those on i are [start[i], start[i + 1]). */
static struct use *sort_uses(const struct segments *u, size_t *start, size_t n)
{
	struct use *v = mem_alloc((u->nops + 1) * sizeof *v);

	for (size_t i = 0; i < u->n; i++)
		for (uint32_t k = 0; k < u->segment[i].n; k++)
			start[number_of(u, segment_ops(u, &u->segment[i]) + k) + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		start[i] += start[i - 1];
	/* During the sort, the later start of i is at i + 1. */
	for (size_t i = 0; i < u->n; i++)
		for (uint32_t k = 0; k < u->segment[i].n; k++) {
			const struct segment_op *op = segment_ops(u, &u->segment[i]) + k;
			bool reads = op->op == OP_READ || op->op == OP_ACQUIRE_SHARED ||
				     op->op == OP_RELEASE_SHARED;

			v[start[number_of(u, op) + 1]++] =
				(struct use){.op = (u->segment[i].first + k) << 1 | reads,
					     .phase = u->segment[i].phase,
					     .held = op->held};
		}
	return v;
}

static int by_size(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Is there a lock that all hold, and that writers hold exclusively? */
static bool all_guarded(struct segments *u, const struct record *v, uint32_t n)
{
	heldset guards = HELD_NONE;

	for (uint32_t i = 0; i < n && (guards || !i); i++) {
		heldset mine = v[i].reads ? v[i].held : heldlocks_exclusive(&u->held, v[i].held);

		guards = i ? heldlocks_common(&u->held, guards, mine) : mine;
	}
	return guards != HELD_NONE;
}

/* Returns how many records, from the first, a record is compared with. */
static uint32_t count_tries(uint32_t n)
{
	return n < TRIES ? n : TRIES;
}

/* Returns the first record that this one does not commute with; n if there is none. */
static uint32_t find_clash(struct races *r, const struct segments *u, const struct record *v,
			   uint32_t n, uint32_t i)
{
	uint32_t k = 0;

	while (k < count_tries(n) &&
	       ((v[i].reads && v[k].reads) || !segments_concurrent(u, v[i].phase, v[k].phase) ||
		heldlocks_exclude(&u->held, v[i].held, v[k].held)))
		k++;
	r->assumed += k == TRIES && k < n;
	return k;
}

static void judge_lock(struct races *r, const struct segments *u, const struct record *v,
		       uint32_t n, bool *contended)
{
	for (uint32_t i = 0; i < n; i++)
		contended[v[i].number] = find_clash(r, u, v, n, i) < n;
}

/* If two accesses of a variable clash, each access that has a concurrent one is contended. */
static void judge_variable(struct races *r, const struct segments *u, const struct record *v,
			   uint32_t n, bool *contended)
{
	bool races = false;

	for (uint32_t i = 0; i < n && !races; i++)
		races = find_clash(r, u, v, n, i) < n;
	for (uint32_t i = 0; i < n && races; i++) {
		uint32_t k = 0;

		while (k < count_tries(n) && !segments_concurrent(u, v[i].phase, v[k].phase))
			k++;
		r->assumed += k == TRIES && k < n;
		contended[v[i].number] = k < n;
	}
}

static void judge_uses(struct races *r, struct segments *u, struct record_table *t, struct use *v,
		       size_t n, bool lock)
{
	bool only_reads = true;
	uint32_t nrecords;

	for (size_t i = 0; i < n; i++) {
		struct record new = {.phase = v[i].phase, .held = v[i].held, .reads = v[i].op & 1};

		only_reads &= new.reads;
		v[i].record = intern_record(t, &new);
	}
	nrecords = t->n;
	forget_records(t);
	if (only_reads || all_guarded(u, t->v, nrecords))
		return;
	for (uint32_t i = 0; i < nrecords; i++)
		t->v[i].size = heldlocks_view(&u->held, t->v[i].held).n;
	MEM_GROW(t->contended, t->contended_cap, (size_t)nrecords + 1);
	memset(t->contended, 0, nrecords);
	qsort(t->v, nrecords, sizeof *t->v, by_size);
	(lock ? judge_lock : judge_variable)(r, u, t->v, nrecords, t->contended);
	for (size_t i = 0; i < n; i++)
		r->contended[v[i].op >> 1] = t->contended[v[i].record];
}

void races_find(struct races *r, struct segments *u)
{
	size_t n = (size_t)u->contention.nlives + u->contention.nlocks;
	size_t *start = mem_zalloc((n + 2) * sizeof *start);
	struct use *v = sort_uses(u, start, n);
	struct record_table t = {0};

	*r = (struct races){.contended = mem_zalloc(u->nops + 1)};
	grow_slots(&t);
	for (size_t i = 0; i < n; i++)
		if (start[i] < start[i + 1])
			judge_uses(r, u, &t, v + start[i], start[i + 1] - start[i],
				   i >= u->contention.nlives);
	mem_free(t.v);
	mem_free(t.slot);
	mem_free(t.contended);
	mem_free(start);
	mem_free(v);
}

void races_free(struct races *r)
{
	mem_free(r->contended);
	*r = (struct races){0};
}
