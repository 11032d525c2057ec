#include "brute.h"

#include <string.h>

#include "base/banned.h"

enum { SEEN = 1 << 12 };

struct state {
	const struct trace *t;
	struct brute *out;
	uint64_t max_runs;
	size_t nthreads;
	/* The program: each thread's events without begins and ends. A piece is a transaction. */
	uint32_t ev[BRUTE_THREADS][BRUTE_EVENTS];
	size_t n[BRUTE_THREADS];
	int piece[BRUTE_EVENTS]; /* by event: the piece of an access; -1: no access */
	size_t npieces;
	uint32_t before[BRUTE_PIECES]; /* by piece: the pieces that must come first, as bits */
	uint32_t in_piece[BRUTE_PIECES][BRUTE_EVENTS];
	size_t piece_n[BRUTE_PIECES];
	/* The run. */
	size_t at[BRUTE_THREADS];
	bool waits[BRUTE_THREADS]; /* whether the thread waits for its fork */
	int readers[BRUTE_LOCKS], writer[BRUTE_LOCKS];
	uint32_t order[BRUTE_EVENTS];
	size_t nordered;
	/* By read, the write that it saw; by variable, the last write. -1: none. */
	int sees[BRUTE_EVENTS], last[BRUTE_VARS];
	uint64_t seen[SEEN]; /* signatures of runs found view-serializable */
};

/* Sets r[a * n + b] if a must come before b in every run: the transitive closure. */
static void close_order(const struct trace *t, bool *r)
{
	size_t n = t->n;

	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++) {
			const struct event *e = &t->ev[a], *f = &t->ev[b];

			r[a * n + b] = (e->thread == f->thread && a < b) ||
				       (e->op == OP_FORK && e->operand == f->thread) ||
				       (f->op == OP_JOIN && f->operand == e->thread);
		}
	for (size_t k = 0; k < n; k++)
		for (size_t a = 0; a < n; a++)
			for (size_t b = 0; r[a * n + k] && b < n; b++)
				r[a * n + b] |= r[k * n + b];
}

/* Divides the trace into pieces, and finds which pieces must come before which. */
static void find_pieces(struct state *s)
{
	const struct trace *t = s->t;
	int open[BRUTE_THREADS];
	unsigned depth[BRUTE_THREADS] = {0};
	static bool order[BRUTE_EVENTS * BRUTE_EVENTS];

	for (int i = 0; i < BRUTE_THREADS; i++)
		open[i] = -1;
	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];

		s->piece[i] = -1;
		if (e->thread >= s->nthreads)
			s->nthreads = e->thread + 1;
		if (e->op == OP_BEGIN)
			depth[e->thread]++;
		else if (e->op == OP_END)
			depth[e->thread]--;
		if (e->op == OP_FORK || e->op == OP_JOIN || !depth[e->thread])
			open[e->thread] = -1;
		if (op_is_access(e->op)) {
			int p = depth[e->thread] ? open[e->thread] : -1;

			if (p < 0)
				p = (int)s->npieces++;
			if (depth[e->thread])
				open[e->thread] = p;
			s->piece[i] = p;
			s->in_piece[p][s->piece_n[p]++] = (uint32_t)i;
		}
		if (e->op != OP_BEGIN && e->op != OP_END)
			s->ev[e->thread][s->n[e->thread]++] = (uint32_t)i;
	}
	close_order(t, order);
	for (size_t a = 0; a < t->n; a++)
		for (size_t b = 0; b < t->n; b++)
			if (s->piece[a] >= 0 && s->piece[b] >= 0 && s->piece[a] != s->piece[b] &&
			    order[a * t->n + b])
				s->before[s->piece[b]] |= 1u << s->piece[a];
}

static bool writes(const struct event *e)
{
	return e->op != OP_READ;
}

static bool reads(const struct event *e)
{
	return e->op != OP_WRITE;
}

/* Is there an order of the pieces in which each comes after all pieces in its `before`? */
static bool can_be_ordered(const uint32_t *before, size_t n)
{
	uint32_t placed = 0;
	bool more = true;

	while (more) {
		more = false;
		for (size_t p = 0; p < n; p++)
			if (!(placed >> p & 1) && !(before[p] & ~placed)) {
				placed |= 1u << p;
				more = true;
			}
	}
	return placed == (n == 32 ? UINT32_MAX : (1u << n) - 1);
}

static bool conflict_serializable(const struct state *s)
{
	uint32_t before[BRUTE_PIECES];

	memcpy(before, s->before, sizeof before);
	for (size_t i = 0; i < s->nordered; i++)
		for (size_t k = i + 1; k < s->nordered; k++) {
			const struct event *e = &s->t->ev[s->order[i]], *f = &s->t->ev[s->order[k]];
			int a = s->piece[s->order[i]], b = s->piece[s->order[k]];

			if (a >= 0 && b >= 0 && a != b && e->operand == f->operand &&
			    (writes(e) || writes(f)))
				before[b] |= 1u << a;
		}
	return can_be_ordered(before, s->npieces);
}

/* Finds what each read of the run saw, and the last write of each variable. */
static void find_view(struct state *s)
{
	int now[BRUTE_VARS];

	memset(now, -1, sizeof now);
	memset(s->sees, -1, sizeof s->sees);
	for (size_t i = 0; i < s->nordered; i++) {
		const struct event *e = &s->t->ev[s->order[i]];

		if (s->piece[s->order[i]] < 0)
			continue;
		if (reads(e))
			s->sees[s->order[i]] = now[e->operand];
		if (writes(e))
			now[e->operand] = (int)s->order[i];
	}
	memcpy(s->last, now, sizeof now);
}

/*
 * Tries all serial orders: adds one piece after the other, as long as each read sees the same write
 * as in the run. `now` has the last write of each variable so far.
 */
static bool find_serial_order(struct state *s, uint32_t placed, const int *now)
{
	if (placed == (1u << s->npieces) - 1)
		return !memcmp(now, s->last, sizeof s->last);
	for (size_t p = 0; p < s->npieces; p++) {
		int then[BRUTE_VARS];
		bool right = true;

		if (placed >> p & 1 || s->before[p] & ~placed)
			continue;
		memcpy(then, now, sizeof then);
		for (size_t i = 0; i < s->piece_n[p] && right; i++) {
			uint32_t at = s->in_piece[p][i];
			const struct event *e = &s->t->ev[at];

			right = !reads(e) || then[e->operand] == s->sees[at];
			if (writes(e))
				then[e->operand] = (int)at;
		}
		if (right && find_serial_order(s, placed | 1u << p, then))
			return true;
	}
	return false;
}

static bool view_serializable(struct state *s)
{
	uint64_t h = 14695981039346656037ull;
	int now[BRUTE_VARS];
	bool yes;

	find_view(s);
	for (size_t i = 0; i < s->t->n; i++)
		h = (h ^ (uint64_t)(s->sees[i] + 2)) * 1099511628211ull;
	for (size_t i = 0; i < BRUTE_VARS; i++)
		h = (h ^ (uint64_t)(s->last[i] + 2)) * 1099511628211ull;
	if (s->seen[h >> 32 & (SEEN - 1)] == h)
		return true;
	memset(now, -1, sizeof now);
	yes = find_serial_order(s, 0, now);
	if (yes)
		s->seen[h >> 32 & (SEEN - 1)] = h;
	return yes;
}

static void judge_run(struct state *s)
{
	s->out->runs++;
	if (s->out->runs > s->max_runs) {
		s->out->too_many = true;
		return;
	}
	if (conflict_serializable(s))
		return;
	s->out->conflict = false;
	if (s->out->view && !view_serializable(s))
		s->out->view = false;
}

static bool can_go(const struct state *s, size_t thread, const struct event *e)
{
	if (s->waits[thread])
		return false;
	switch (e->op) {
	case OP_ACQUIRE:
		return !s->writer[e->operand] && !s->readers[e->operand];
	case OP_ACQUIRE_SHARED:
		return !s->writer[e->operand];
	case OP_JOIN:
		return e->operand >= s->nthreads ||
		       (!s->waits[e->operand] && s->at[e->operand] == s->n[e->operand]);
	default:
		return true;
	}
}

/* Does the effect of event e on locks and forks (by = 1), or undoes it (by = -1). */
static void apply(struct state *s, const struct event *e, int by)
{
	switch (e->op) {
	case OP_ACQUIRE:
		s->writer[e->operand] += by;
		break;
	case OP_RELEASE:
		s->writer[e->operand] -= by;
		break;
	case OP_ACQUIRE_SHARED:
		s->readers[e->operand] += by;
		break;
	case OP_RELEASE_SHARED:
		s->readers[e->operand] -= by;
		break;
	case OP_FORK:
		if (e->operand < s->nthreads)
			s->waits[e->operand] = by < 0;
		break;
	default:
		break;
	}
}

/* Continues the run in every possible way, and judges each complete run. */
static void run_on(struct state *s)
{
	bool left = false, went = false;

	for (size_t i = 0; i < s->nthreads && !s->out->too_many; i++) {
		const struct event *e;

		if (s->at[i] == s->n[i])
			continue;
		left = true;
		e = &s->t->ev[s->ev[i][s->at[i]]];
		if (!can_go(s, i, e))
			continue;
		went = true;
		s->order[s->nordered++] = s->ev[i][s->at[i]++];
		apply(s, e, 1);
		run_on(s);
		apply(s, e, -1);
		s->nordered--;
		s->at[i]--;
	}
	if (!left)
		judge_run(s);
	else if (!went)
		s->out->deadlocks++;
}

struct brute brute_judge(const struct trace *t, uint64_t max_runs)
{
	struct brute out = {.conflict = true, .view = true};
	static struct state s;

	memset(&s, 0, sizeof s);
	s.t = t;
	s.out = &out;
	s.max_runs = max_runs;
	find_pieces(&s);
	for (size_t i = 0; i < t->n; i++)
		if (t->ev[i].op == OP_FORK && t->ev[i].operand < s.nthreads)
			s.waits[t->ev[i].operand] = true;
	run_on(&s);
	return out;
}
