#include "twin_movers.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

enum { THREADS = 16 };

static bool is_acquire(const struct event *e)
{
	return e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED;
}

static bool is_cut(const struct event *e)
{
	return e->op == OP_FORK || e->op == OP_JOIN || e->op == OP_BARRIER;
}

/* Does the event only read, or only acquire or release in shared mode? */
static bool is_shared_use(const struct event *e)
{
	return e->op == OP_READ || e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;
}

/* Are these accesses of one variable in one life, or operations on one lock? */
static bool have_same_target(const struct twin *t, size_t a, size_t b)
{
	const struct event *e = &t->ev[a], *f = &t->ev[b];

	if (op_is_lock(e->op) && op_is_lock(f->op))
		return e->operand == f->operand;
	if (!op_is_access(e->op) || !op_is_access(f->op) || e->operand != f->operand)
		return false;
	for (size_t i = a < b ? a : b; i < (a < b ? b : a); i++)
		if ((t->ev[i].op == OP_ALLOC || t->ev[i].op == OP_FREE) &&
		    t->ev[i].operand == e->operand)
			return false;
	return true;
}

static bool is_use(const struct event *e)
{
	return op_is_access(e->op) || is_acquire(e);
}

/*
 * Does the variable or lock of event e take part by event `last`: are there two uses of it up to
 * there that are concurrent and conflict?
 */
static bool takes_part(const struct twin *t, size_t e, size_t last)
{
	for (size_t a = 0; a <= last; a++)
		for (size_t b = 0; b < a; b++)
			if (is_use(&t->ev[a]) && is_use(&t->ev[b]) && have_same_target(t, a, e) &&
			    have_same_target(t, b, e) && have_same_target(t, a, b) &&
			    twin_concurrent(t, a, b) &&
			    !(is_shared_use(&t->ev[a]) && is_shared_use(&t->ev[b])))
				return true;
	return false;
}

/* Is some lock a guard: held at each use, up to e, from the one with which it takes part? */
static bool guarded_so_far(const struct twin *t, size_t e)
{
	for (uint32_t l = 0; l < TWIN_LOCKS; l++) {
		bool all = true;

		for (size_t i = 0; i <= e && all; i++)
			if (is_use(&t->ev[i]) && have_same_target(t, i, e) && takes_part(t, i, i))
				all = is_shared_use(&t->ev[i]) ? t->held[i][l] != FREE
							       : t->held[i][l] == EXCLUSIVELY;
		if (all)
			return true;
	}
	return false;
}

static char find_mover_now(const struct twin *t, size_t e)
{
	size_t use = e;

	if (!is_use(&t->ev[e]))
		while (!is_acquire(&t->ev[use]) || t->ev[use].operand != t->ev[e].operand)
			use--;
	if (!takes_part(t, use, use) || guarded_so_far(t, use))
		return 'B';
	return op_is_access(t->ev[e].op) ? 'N' : e == use ? 'R' : 'L';
}

/* Does this mover break the pattern? `left`: whether the pattern is past its R*; updated. */
static bool breaks_pattern(bool *left, char mover)
{
	if (mover == 'B' || (mover == 'R' && !*left) || (mover == 'L' && *left))
		return false;
	if (*left)
		return true;
	*left = true;
	return false;
}

size_t twin_atomizer(const struct twin *t, struct twin_broken *out)
{
	uint64_t begin[THREADS] = {0};
	unsigned depth[THREADS] = {0};
	bool left[THREADS] = {0}, told[THREADS] = {0};
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];
		uint32_t who = e->thread;

		if (e->op == OP_NONE)
			continue;
		if (e->op == OP_BEGIN && !depth[who]++) {
			begin[who] = i + 1;
			left[who] = told[who] = false;
		}
		if (e->op == OP_END)
			depth[who]--;
		if (is_cut(e))
			left[who] = told[who] = false;
		if (!depth[who] || told[who] || (!op_is_access(e->op) && !op_is_lock(e->op)))
			continue;
		told[who] = breaks_pattern(&left[who], find_mover_now(t, i));
		if (told[who])
			out[n++] = (struct twin_broken){begin[who], i + 1};
	}
	return n;
}

/* The segment of each event, and facts about each segment. */
struct layout {
	size_t *segment; /* by event; 0: in no segment, or not relevant */
	bool *accessed;  /* by segment: whether it has a relevant access */
	uint64_t *begin; /* by segment: its block's begin, or 0 outside blocks */
	size_t nsegments;
};

/* Divides the trace into segments. Returns false if a segment begins with a lock held. */
static bool find_segments(const struct twin *t, struct layout *l)
{
	size_t open[THREADS] = {0};
	uint64_t begin[THREADS] = {0};
	unsigned depth[THREADS] = {0}, locks[THREADS] = {0};

	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];
		uint32_t who = e->thread;
		bool lock = op_is_lock(e->op), access = op_is_access(e->op);
		size_t use = i;

		if (e->op == OP_NONE)
			continue;
		if (is_cut(e) || (e->op == OP_BEGIN && !depth[who]) ||
		    (e->op == OP_END && depth[who] == 1))
			open[who] = 0;
		if (e->op == OP_BEGIN && !depth[who]++)
			begin[who] = i + 1;
		if (e->op == OP_END)
			depth[who]--;
		if (lock && !is_acquire(e))
			while (!is_acquire(&t->ev[use]) || t->ev[use].operand != e->operand)
				use--;
		if ((!lock && !access) || !takes_part(t, use, t->n - 1))
			continue;
		if (!open[who]) {
			if (locks[who])
				return false;
			open[who] = ++l->nsegments;
			l->begin[open[who]] = depth[who] ? begin[who] : 0;
		}
		l->segment[i] = open[who];
		l->accessed[open[who]] |= access;
		if (lock)
			locks[who] += is_acquire(e) ? 1 : -1u;
		if (!depth[who] && !locks[who])
			open[who] = 0;
	}
	return true;
}

/* Is event i relevant and in a segment with a relevant access? */
static bool is_kept(const struct layout *l, size_t i)
{
	return l->segment[i] && l->accessed[l->segment[i]];
}

static bool conflict(const struct twin *t, const struct layout *l, size_t a, size_t b)
{
	return is_kept(l, a) && is_kept(l, b) && have_same_target(t, a, b) &&
	       twin_concurrent(t, a, b) &&
	       !(is_shared_use(&t->ev[a]) && is_shared_use(&t->ev[b])) && !twin_exclude(t, a, b);
}

static char find_mover_at_end(const struct twin *t, const struct layout *l, size_t e)
{
	bool clashes = false, beside = false;

	for (size_t a = 0; a < t->n; a++) {
		if (!op_is_access(t->ev[e].op)) {
			clashes |= conflict(t, l, a, e);
			continue;
		}
		beside |= is_kept(l, a) && have_same_target(t, a, e) && twin_concurrent(t, a, e);
		for (size_t b = 0; b < t->n && !clashes; b++)
			clashes = have_same_target(t, a, e) && conflict(t, l, a, b);
	}
	if (op_is_access(t->ev[e].op))
		return clashes && beside ? 'N' : 'B';
	return !clashes ? 'B' : is_acquire(&t->ev[e]) ? 'R' : 'L';
}

/* Is e an acquire or release of a lock that its segment holds over no relevant access? */
static bool is_in_empty_section(const struct twin *t, const struct layout *l, size_t e)
{
	int step = is_acquire(&t->ev[e]) ? 1 : -1;

	if (!op_is_lock(t->ev[e].op))
		return false;
	for (size_t i = e + (size_t)step; i < t->n; i += (size_t)step) {
		if (l->segment[i] != l->segment[e])
			continue;
		if (op_is_access(t->ev[i].op))
			return false;
		if (t->ev[i].operand == t->ev[e].operand)
			return true;
	}
	return false;
}

size_t twin_reduction(const struct twin *t, struct twin_broken *out)
{
	struct layout l = {.segment = mem_zalloc(t->n * sizeof *l.segment),
			   .accessed = mem_zalloc(t->n + 1),
			   .begin = mem_zalloc((t->n + 1) * sizeof *l.begin)};
	size_t n = 0;

	if (!find_segments(t, &l))
		n = SIZE_MAX;
	for (size_t u = 1; u <= l.nsegments && n != SIZE_MAX; u++) {
		bool left = false, told = false;

		for (size_t i = 0; i < t->n && !told && l.begin[u] && l.accessed[u]; i++) {
			if (l.segment[i] != u || is_in_empty_section(t, &l, i))
				continue;
			told = breaks_pattern(&left, find_mover_at_end(t, &l, i));
			if (told)
				out[n++] = (struct twin_broken){l.begin[u], i + 1};
		}
	}
	mem_free(l.segment);
	mem_free(l.accessed);
	mem_free(l.begin);
	return n;
}
