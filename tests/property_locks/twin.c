#include "twin.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

static bool is_write(const struct event *e)
{
	return e->op == OP_WRITE || e->op == OP_UPDATE;
}

static bool is_acquire(const struct event *e)
{
	return e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED;
}

static void add_order(struct twin *t, size_t a, size_t b)
{
	t->before[a * t->n + b] = true;
}

/*
 * Returns the next event of a's thread after `a`, or the join of that thread if it comes first; n
 * if there is neither. At that event the thread has gone on.
 */
static size_t find_next(const struct twin *t, size_t a)
{
	for (size_t i = a + 1; i < t->n; i++) {
		const struct event *e = &t->ev[i];

		if (e->op != OP_NONE && e->thread == t->ev[a].thread)
			return i;
		if (e->op == OP_JOIN && e->operand == t->ev[a].thread)
			return i;
	}
	return t->n;
}

/*
 * Numbers the rounds of barriers: arrival `a` belongs to the round of the previous arrival at its
 * barrier, unless a thread of that round has gone on before `a`. A round's number is the index of
 * its first arrival; all other events have numbers of their own.
 */
static void find_rounds(const struct twin *t, size_t *round)
{
	for (size_t a = 0; a < t->n; a++) {
		size_t last = t->n;

		round[a] = a;
		if (t->ev[a].op != OP_BARRIER)
			continue;
		for (size_t i = 0; i < a; i++)
			if (t->ev[i].op == OP_BARRIER && t->ev[i].operand == t->ev[a].operand)
				last = round[i];
		for (size_t i = 0; i < a && last < t->n; i++)
			if (round[i] == last && find_next(t, i) <= a)
				last = t->n;
		if (last < t->n)
			round[a] = last;
	}
}

static void order_barriers(struct twin *t)
{
	size_t *round = mem_alloc(t->n * sizeof *round);

	find_rounds(t, round);
	for (size_t a = 0; a < t->n; a++)
		for (size_t b = 0; b < t->n; b++)
			if (a != b && round[a] == round[b] && find_next(t, b) < t->n)
				add_order(t, a, find_next(t, b));
	mem_free(round);
}

static size_t first_join(const struct twin *t, uint32_t thread)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->ev[i].op == OP_JOIN && t->ev[i].operand == thread)
			return i;
	return t->n;
}

static void order_threads(struct twin *t)
{
	for (size_t a = 0; a < t->n; a++) {
		const struct event *e = &t->ev[a];

		if (e->op == OP_NONE)
			continue;
		for (size_t b = a + 1; b < t->n; b++)
			if (t->ev[b].op != OP_NONE &&
			    (t->ev[b].thread == e->thread ||
			     (e->op == OP_FORK && t->ev[b].thread == e->operand)))
				add_order(t, a, b);
		if (first_join(t, e->thread) < t->n)
			add_order(t, a, first_join(t, e->thread));
		/* Also if the child did nothing. */
		if (e->op == OP_FORK && first_join(t, e->operand) < t->n)
			add_order(t, a, first_join(t, e->operand));
	}
}

static void close_order(struct twin *t)
{
	for (size_t k = 0; k < t->n; k++)
		for (size_t a = 0; a < k; a++)
			for (size_t b = k + 1; b < t->n; b++)
				if (t->before[a * t->n + k] && t->before[k * t->n + b])
					add_order(t, a, b);
}

static void find_held(struct twin *t)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct event *e = &t->ev[k];

			if (e->thread != t->ev[i].thread || !op_is_lock(e->op))
				continue;
			t->held[i][e->operand] = e->op == OP_ACQUIRE          ? EXCLUSIVELY
						 : e->op == OP_ACQUIRE_SHARED ? IN_SHARE
									      : FREE;
		}
	}
}

void twin_init(struct twin *t, const struct event *ev, size_t n)
{
	*t = (struct twin){.ev = ev, .n = n};
	t->before = mem_zalloc(n * n);
	t->held = mem_zalloc(n * sizeof *t->held);
	order_threads(t);
	order_barriers(t);
	close_order(t);
	find_held(t);
}

void twin_free(struct twin *t)
{
	mem_free(t->before);
	mem_free(t->held);
}

bool twin_concurrent(const struct twin *t, size_t a, size_t b)
{
	return a != b && !t->before[a * t->n + b] && !t->before[b * t->n + a];
}

bool twin_exclude(const struct twin *t, size_t a, size_t b)
{
	for (uint32_t l = 0; l < TWIN_LOCKS; l++)
		if (t->held[a][l] && t->held[b][l] &&
		    (t->held[a][l] == EXCLUSIVELY || t->held[b][l] == EXCLUSIVELY))
			return true;
	return false;
}

/* Returns where the variable's current life at access i begins: after its last alloc or free. */
static size_t find_birth(const struct twin *t, size_t i)
{
	size_t from = i;

	while (from && !((t->ev[from - 1].op == OP_ALLOC || t->ev[from - 1].op == OP_FREE) &&
			 t->ev[from - 1].operand == t->ev[i].operand))
		from--;
	return from;
}

static bool same_var(const struct twin *t, size_t a, size_t i)
{
	return op_is_access(t->ev[a].op) && t->ev[a].operand == t->ev[i].operand;
}

/* Is access i owned: must all earlier accesses of the variable's life come before it? */
static bool is_owned(const struct twin *t, size_t i)
{
	for (size_t a = find_birth(t, i); a < i; a++)
		if (same_var(t, a, i) && !t->before[a * t->n + i])
			return false;
	return true;
}

static size_t find_previous(const struct twin *t, size_t i)
{
	for (size_t a = i; a-- > find_birth(t, i);)
		if (same_var(t, a, i))
			return a;
	return t->n;
}

/* Returns the first access of the reign that access i belongs to. */
static size_t find_reign(const struct twin *t, size_t i)
{
	for (;;) {
		size_t before = find_previous(t, i);

		if (before == t->n)
			return i;
		if (is_owned(t, i) &&
		    !(is_owned(t, before) && t->ev[before].thread == t->ev[i].thread))
			return i;
		i = before;
	}
}

/* Is lock l a guard at i: held exclusively at each write of the reign up to i that is not owned? */
static bool is_guard(const struct twin *t, size_t i, uint32_t l)
{
	for (size_t a = find_reign(t, i); a <= i; a++)
		if (same_var(t, a, i) && is_write(&t->ev[a]) && !is_owned(t, a) &&
		    t->held[a][l] != EXCLUSIVELY)
			return false;
	return true;
}

static bool written_since_shared(const struct twin *t, size_t i)
{
	for (size_t a = find_reign(t, i); a <= i; a++)
		if (same_var(t, a, i) && is_write(&t->ev[a]) && !is_owned(t, a))
			return true;
	return false;
}

/* Is one of the guards at i held at access a? */
static bool is_guarded(const struct twin *t, size_t a, size_t i)
{
	for (uint32_t l = 0; l < TWIN_LOCKS; l++)
		if (t->held[a][l] && is_guard(t, i, l))
			return true;
	return false;
}

static bool has_guard(const struct twin *t, size_t i)
{
	for (uint32_t l = 0; l < TWIN_LOCKS; l++)
		if (is_guard(t, i, l))
			return true;
	return false;
}

static bool conflict(const struct event *a, const struct event *b)
{
	return (is_write(a) || is_write(b)) && !(a->op == OP_UPDATE && b->op == OP_UPDATE);
}

/* Is access i a finding because of the earlier access b of its reign? */
static bool is_other(const struct twin *t, size_t b, size_t i)
{
	if (!twin_concurrent(t, b, i) || !conflict(&t->ev[b], &t->ev[i]))
		return false;
	if (!is_write(&t->ev[i]))
		return written_since_shared(t, i) && !is_guarded(t, i, i);
	return !has_guard(t, i) ||
	       (t->ev[b].op == OP_READ && !is_owned(t, b) && !is_guarded(t, b, i));
}

bool twin_lockset_other(const struct twin *t, uint64_t other, uint64_t event)
{
	size_t b = other - 1, i = event - 1;

	return b < i && same_var(t, b, i) && b >= find_reign(t, i) && is_other(t, b, i);
}

uint64_t twin_lockset(const struct twin *t, uint32_t var)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!op_is_access(t->ev[i].op) || t->ev[i].operand != var || is_owned(t, i))
			continue;
		for (size_t b = 0; b < i; b++)
			if (twin_lockset_other(t, b + 1, i + 1))
				return i + 1;
	}
	return 0;
}

struct cycle_search {
	const struct twin *t;
	size_t acquire[TWIN_LOCKS];
	struct twin_cycle now, *out;
	size_t n;
};

static void add_cycle(struct cycle_search *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->out[i].n == s->now.n &&
		    !memcmp(s->out[i].lock, s->now.lock, s->now.n * sizeof *s->now.lock))
			return;
	if (s->n < TWIN_CYCLES)
		s->out[s->n++] = s->now;
}

/* Does the thread of event b hold the lock of acquire a in such a way that a must wait? */
static bool waits_for(const struct twin *t, size_t a, size_t b)
{
	uint8_t how = t->held[b][t->ev[a].operand];

	return how == EXCLUSIVELY || (how && t->ev[a].op == OP_ACQUIRE);
}

/*
 * Tries to extend the sequence by every acquire and every lock that its thread holds there, such
 * that the conditions of a deadlock hold; adds the sequences that are closed to the result.
 */
static void extend_cycle(struct cycle_search *s)
{
	const struct twin *t = s->t;
	uint32_t n = s->now.n;

	for (size_t a = 0; a < t->n; a++) {
		bool fits = is_acquire(&t->ev[a]);

		for (uint32_t i = 0; i < n && fits; i++)
			fits = twin_concurrent(t, a, s->acquire[i]) &&
			       !twin_exclude(t, a, s->acquire[i]);
		if (!fits || (n && !waits_for(t, s->acquire[n - 1], a)))
			continue;
		for (uint32_t l = 0; l < TWIN_LOCKS; l++) {
			bool new = t->held[a][l] && (!n || (l == t->ev[s->acquire[n - 1]].operand &&
							    l > s->now.lock[0]));

			for (uint32_t i = 0; i < n; i++)
				new &= s->now.lock[i] != l;
			if (!new || n == TWIN_LOCKS)
				continue;
			s->acquire[n] = a;
			s->now.lock[n] = l;
			s->now.n = n + 1;
			if (n && t->ev[a].operand == s->now.lock[0] &&
			    waits_for(t, a, s->acquire[0]))
				add_cycle(s);
			extend_cycle(s);
			s->now.n = n;
		}
	}
}

size_t twin_deadlocks(const struct twin *t, struct twin_cycle *out)
{
	struct cycle_search s = {.t = t, .out = out};

	extend_cycle(&s);
	return s.n;
}
