#include "twin.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

static uint64_t *get_row(const struct twin *t, uint64_t *matrix, size_t i)
{
	return matrix + i * t->words;
}

static bool contains(const uint64_t *set, size_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static void add(uint64_t *set, size_t i)
{
	set[i / 64] |= (uint64_t)1 << (i % 64);
}

static void add_all(const struct twin *t, uint64_t *set, const uint64_t *more)
{
	for (size_t w = 0; w < t->words; w++)
		set[w] |= more[w];
}

static bool is_exclusive(const struct event *e)
{
	return e->op == OP_ACQUIRE || e->op == OP_RELEASE;
}

/* Does `a`, the earlier event, conflict with `b` for another reason than a lock? */
static bool conflict_without_lock(const struct event *a, const struct event *b)
{
	if (a->op == OP_NONE || b->op == OP_NONE)
		return false;
	if (a->thread == b->thread)
		return true;
	if (op_is_access(a->op) && op_is_access(b->op) && a->operand == b->operand)
		return a->op != OP_READ || b->op != OP_READ;
	if (a->op == OP_FORK && a->operand == b->thread)
		return true;
	return b->op == OP_JOIN && b->operand == a->thread;
}

static bool conflict_by_lock(const struct event *a, const struct event *b)
{
	return op_is_lock(a->op) && op_is_lock(b->op) && a->operand == b->operand &&
	       (is_exclusive(a) || is_exclusive(b));
}

/* Scans the thread's events from the start instead of keeping state: slow, but simple. */
static size_t first_of_transaction(const struct event *ev, size_t i)
{
	size_t outermost = i;
	unsigned depth = 0;

	for (size_t j = 0; j <= i; j++) {
		if (ev[j].thread != ev[i].thread)
			continue;
		if (ev[j].op == OP_BEGIN && depth++ == 0)
			outermost = j;
		/* The end of a block is still inside it. */
		if (ev[j].op == OP_END && j < i)
			depth--;
	}
	return depth ? outermost : i;
}

void twin_init(struct twin *t, const struct event *ev, size_t n)
{
	*t = (struct twin){.ev = ev, .n = n, .words = n / 64 + 1};
	t->conflict = mem_zalloc(n * t->words * sizeof *t->conflict);
	t->data = mem_zalloc(n * t->words * sizeof *t->data);
	t->before = mem_zalloc(n * t->words * sizeof *t->before);
	t->first = mem_zalloc(n * sizeof *t->first);
	for (size_t b = 0; b < n; b++) {
		t->first[b] = first_of_transaction(ev, b);
		for (size_t a = 0; a < b; a++) {
			bool plain = conflict_without_lock(&ev[a], &ev[b]);

			if (plain)
				add(get_row(t, t->data, b), a);
			if (!plain && !conflict_by_lock(&ev[a], &ev[b]))
				continue;
			add(get_row(t, t->conflict, b), a);
			/* Edges lead forward, so the row of a is complete by now. */
			add(get_row(t, t->before, b), a);
			add_all(t, get_row(t, t->before, b), get_row(t, t->before, a));
		}
	}
}

void twin_free(struct twin *t)
{
	mem_free(t->conflict);
	mem_free(t->data);
	mem_free(t->before);
	mem_free(t->first);
	*t = (struct twin){0};
}

/*
 * Returns a matrix whose row A has the transactions that can be reached from A over
 * one edge or more in the prefix of k events. A transaction's number is the index
 * of its first event. Warshall's algorithm. The caller frees the matrix.
 */
static uint64_t *compute_reachable(const struct twin *t, size_t k, bool data_only)
{
	uint64_t *reach = mem_zalloc(t->n * t->words * sizeof *reach);

	for (size_t b = 0; b < k; b++)
		for (size_t a = 0; a < b; a++)
			if (t->first[a] != t->first[b] &&
			    contains(get_row(t, data_only ? t->data : t->conflict, b), a))
				add(get_row(t, reach, t->first[a]), t->first[b]);
	for (size_t via = 0; via < k; via++)
		for (size_t from = 0; from < k; from++)
			if (contains(get_row(t, reach, from), via))
				add_all(t, get_row(t, reach, from), get_row(t, reach, via));
	return reach;
}

static bool has_cycle(const struct twin *t, size_t k)
{
	uint64_t *reach = compute_reachable(t, k, false);
	bool found = false;

	for (size_t i = 0; i < k && !found; i++)
		found = contains(get_row(t, reach, i), i);
	mem_free(reach);
	return found;
}

uint64_t twin_first_violation(const struct twin *t)
{
	size_t good = 0, bad = t->n;

	if (!has_cycle(t, bad))
		return 0;
	/* A longer prefix has every edge of a shorter one, so bisection is correct. */
	while (bad - good > 1) {
		size_t mid = good + (bad - good) / 2;

		if (has_cycle(t, mid))
			bad = mid;
		else
			good = mid;
	}
	return bad;
}

bool twin_on_cycle(const struct twin *t, uint64_t k, bool data_only)
{
	uint64_t *reach = compute_reachable(t, k, data_only);
	size_t d = t->first[k - 1];
	bool found = contains(get_row(t, reach, d), d);

	mem_free(reach);
	return found;
}

uint64_t twin_begin(const struct twin *t, uint64_t k)
{
	size_t first = t->first[k - 1];

	return t->ev[first].op == OP_BEGIN ? first + 1 : 0;
}

/*
 * Are there d and d' in the transaction of event k, at or after index `from` and
 * not later than k, and an event e outside the transaction, such that d happens
 * before e and e happens before d'?
 */
static bool is_cut_through(const struct twin *t, size_t from, size_t k)
{
	size_t tx = t->first[k - 1];

	for (size_t d2 = from; d2 < k; d2++) {
		if (t->first[d2] != tx)
			continue;
		for (size_t e = 0; e < d2; e++) {
			if (t->first[e] == tx || !contains(get_row(t, t->before, d2), e))
				continue;
			for (size_t d = from; d < e; d++)
				if (t->first[d] == tx && contains(get_row(t, t->before, e), d))
					return true;
		}
	}
	return false;
}

/* Does a happen before b without conflicts by locks? `seen` has n entries, all false. */
static bool before_by_data(const struct twin *t, size_t a, size_t b, bool *seen)
{
	seen[a] = true;
	for (size_t e = a + 1; e <= b; e++)
		for (size_t c = a; c < e && !seen[e]; c++)
			seen[e] = seen[c] && contains(get_row(t, t->data, e), c);
	return seen[b];
}

bool twin_cut_by_data(const struct twin *t, uint64_t k)
{
	size_t tx = t->first[k - 1], last = tx;
	bool *seen = mem_alloc(t->n * sizeof *seen);
	bool found = false;

	for (size_t d = tx; d < k - 1; d++)
		if (t->first[d] == tx && t->ev[d].op != OP_NONE)
			last = d;
	/*
	 * If any event of the transaction happens before e, its first one does. If e happens before
	 * any of its events earlier than k, it happens before `last`.
	 */
	for (size_t e = tx; e < k - 1 && !found; e++) {
		if (t->first[e] == tx || !contains(get_row(t, t->data, k - 1), e))
			continue;
		memset(seen, 0, t->n * sizeof *seen);
		found = before_by_data(t, tx, e, seen);
		memset(seen, 0, t->n * sizeof *seen);
		found = found && !(last > e && before_by_data(t, e, last, seen));
	}
	mem_free(seen);
	return found;
}

bool twin_blamed(const struct twin *t, uint64_t k)
{
	return is_cut_through(t, t->first[k - 1], k);
}

size_t twin_refuted(const struct twin *t, uint64_t k, uint64_t *begins)
{
	size_t nopen = 0, n = 0;

	/* The blocks open at k: a stack, which the end at k has not popped yet. */
	for (size_t i = t->first[k - 1]; i < k; i++) {
		if (t->first[i] != t->first[k - 1])
			continue;
		if (t->ev[i].op == OP_BEGIN)
			begins[nopen++] = i + 1;
		if (t->ev[i].op == OP_END && i + 1 < k)
			nopen--;
	}
	for (size_t i = 0; i < nopen; i++)
		if (is_cut_through(t, begins[i] - 1, k))
			begins[n++] = begins[i];
	return n;
}

bool twin_conflict(const struct twin *t, uint64_t a, uint64_t b)
{
	return a < b && contains(get_row(t, t->conflict, b - 1), a - 1);
}

bool twin_same_transaction(const struct twin *t, uint64_t a, uint64_t b)
{
	return t->first[a - 1] == t->first[b - 1];
}

const char *twin_check_cycle(const struct twin *t, uint64_t k, const uint64_t *steps, size_t nsteps)
{
	bool outside = false;

	if (nsteps < 3)
		return "fewer than three steps";
	for (size_t i = 0; i < nsteps; i++) {
		if (!steps[i] || steps[i] > k)
			return "a step that is not in the prefix";
		if (t->ev[steps[i] - 1].op == OP_NONE)
			return "a step that is a dropped event";
		outside |= !twin_same_transaction(t, steps[i], k);
	}
	if (steps[nsteps - 1] != k)
		return "the last step is not the closing event";
	if (!twin_same_transaction(t, steps[0], k))
		return "the first step is not in the closing transaction";
	if (!outside)
		return "no step outside the closing transaction";
	for (size_t i = 0; i + 1 < nsteps; i++)
		if (!twin_conflict(t, steps[i], steps[i + 1]) &&
		    !twin_same_transaction(t, steps[i], steps[i + 1]))
			return "two neighbours that neither conflict, the earlier first, nor share "
			       "a transaction";
	return NULL;
}
