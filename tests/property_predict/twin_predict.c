#include "twin_predict.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

const char *const twin_pattern[TWIN_PATTERNS] = {"r-w-r", "r-w-w", "w-w-r", "w-w-w", "w-r-w"};
const char *const twin_two[TWIN_TWO] = {"r-w-r-w", "r-w-w-r", "r-w-w-w", "w-r-r-w", "w-r-w-r",
					"w-r-w-w", "w-w-r-w", "w-w-w-r", "w-w-w-w"};

static const struct event *get_event(const struct twin_predict *w, uint32_t thread,
				     uint32_t position)
{
	return &w->t->ev[w->event[thread][position]];
}

static bool is_read(const struct event *e)
{
	return e->op == OP_READ || e->op == OP_UPDATE;
}

static bool is_write(const struct event *e)
{
	return e->op == OP_WRITE || e->op == OP_UPDATE;
}

static bool does_op(const struct event *e, char c)
{
	return c == 'r' ? is_read(e) : is_write(e);
}

/* Returns how often the thread has reached that barrier before a position. */
static uint32_t count_passes(const struct twin_predict *w, uint32_t thread, uint32_t position,
			     uint32_t object)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < position; i++)
		n += get_event(w, thread, i)->op == OP_BARRIER &&
		     get_event(w, thread, i)->operand == object;
	return n;
}

static bool barrier_is_open(const struct twin_predict *w, const uint32_t *pos, uint32_t thread)
{
	const struct event *before = pos[thread] ? get_event(w, thread, pos[thread] - 1) : NULL;
	uint32_t round;

	if (!before || before->op != OP_BARRIER)
		return true;
	round = count_passes(w, thread, pos[thread], before->operand);
	for (uint32_t u = 0; u < TWIN_THREADS; u++)
		if (count_passes(w, u, w->n[u], before->operand) >= round &&
		    count_passes(w, u, pos[u], before->operand) < round)
			return false;
	return true;
}

/* Have all events happened that event i waits for: its fork, a joined thread, waits, notifies? */
static bool have_prerequisites_happened(const struct twin_predict *w, const uint32_t *pos,
					uint32_t i)
{
	const struct event *e = &w->t->ev[i];

	for (uint32_t k = 0; k < w->t->n; k++) {
		const struct event *x = &w->t->ev[k];
		bool needed = false;

		if (x->op == OP_FORK && x->operand == e->thread)
			needed = true;
		if (e->op == OP_JOIN && x->thread == e->operand && k < i)
			needed = true;
		if ((e->op == OP_WAIT || e->op == OP_NOTIFY) && k < i &&
		    (x->op == OP_WAIT || x->op == OP_NOTIFY) && x->operand == e->operand)
			needed = true;
		if (needed && pos[x->thread] <= w->where[k])
			return false;
	}
	return true;
}

static bool lock_is_free(const struct twin_predict *w, const uint32_t *pos, const struct event *e)
{
	if (e->op != OP_ACQUIRE && e->op != OP_ACQUIRE_SHARED)
		return true;
	for (uint32_t u = 0; u < TWIN_THREADS; u++) {
		uint8_t held = w->held[u][pos[u]][e->operand];

		if (held == 1 || (held && e->op == OP_ACQUIRE))
			return false;
	}
	return true;
}

bool twin_predict_enabled(const struct twin_predict *w, const uint32_t *pos, uint32_t thread)
{
	uint32_t i;

	if (pos[thread] >= w->n[thread])
		return false;
	i = w->event[thread][pos[thread]];
	return lock_is_free(w, pos, &w->t->ev[i]) && barrier_is_open(w, pos, thread) &&
	       have_prerequisites_happened(w, pos, i);
}

/* Returns the positions as one number. */
static uint32_t pack_positions(const struct twin_predict *w, const uint32_t *pos)
{
	uint32_t at_all = 0;

	for (uint32_t u = 0; u < TWIN_THREADS; u++)
		at_all = at_all * (w->n[u] + 1) + pos[u];
	return at_all;
}

static void unpack_positions(const struct twin_predict *w, uint32_t number, uint32_t *pos)
{
	for (uint32_t u = TWIN_THREADS; u-- > 0;) {
		pos[u] = number % (w->n[u] + 1);
		number /= w->n[u] + 1;
	}
}

/*
 * Finds all positions that can be reached from `from` without executing a step before the previous
 * one of `steps`. Returns them as flags, which the caller frees; `last` is the highest number.
 */
static uint8_t *find_reachable(const struct twin_predict *w, uint32_t from, const uint32_t *steps,
			       size_t nsteps, uint32_t *last)
{
	uint32_t size = 1, n = 0, *queue;
	uint8_t *seen;

	for (uint32_t u = 0; u < TWIN_THREADS; u++)
		size *= w->n[u] + 1;
	seen = mem_zalloc(size);
	queue = mem_alloc(size * sizeof *queue);
	queue[n++] = from;
	seen[from] = 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t pos[TWIN_THREADS], next;

		unpack_positions(w, queue[i], pos);
		for (uint32_t u = 0; u < TWIN_THREADS; u++) {
			uint32_t event = pos[u] < w->n[u] ? w->event[u][pos[u]] : 0;

			bool early = false;

			if (!twin_predict_enabled(w, pos, u))
				continue;
			for (size_t s = 1; s < nsteps; s++)
				early |= event == steps[s] && pos[w->t->ev[steps[s - 1]].thread] <=
								      w->where[steps[s - 1]];
			if (early)
				continue;
			pos[u]++;
			next = pack_positions(w, pos);
			pos[u]--;
			if (!seen[next])
				queue[n++] = next;
			seen[next] = 1;
		}
	}
	mem_free(queue);
	*last = size - 1;
	return seen;
}

/* Is there an interleaving that executes the steps in this order? */
static bool is_possible(const struct twin_predict *w, const uint32_t *steps, size_t nsteps)
{
	uint32_t last, end = steps[nsteps - 1], thread = w->t->ev[end].thread;
	uint8_t *seen = find_reachable(w, 0, steps, nsteps, &last);
	bool yes = false;

	for (uint32_t i = 0; i <= last && !yes; i++) {
		uint32_t pos[TWIN_THREADS];

		if (!seen[i])
			continue;
		unpack_positions(w, i, pos);
		yes = pos[thread] > w->where[end];
	}
	mem_free(seen);
	return yes;
}

/* Can every interleaving be completed? */
static bool is_deadlock_free(const struct twin_predict *w)
{
	uint32_t last, end;
	uint8_t *seen = find_reachable(w, 0, NULL, 0, &last);
	bool yes = true;

	/* It suffices that no position before the end is stuck. */
	for (uint32_t i = 0; i < last && yes; i++) {
		uint32_t pos[TWIN_THREADS];
		bool stuck = true;

		if (!seen[i])
			continue;
		unpack_positions(w, i, pos);
		for (uint32_t u = 0; u < TWIN_THREADS; u++)
			stuck &= !twin_predict_enabled(w, pos, u);
		yes = !stuck;
	}
	end = seen[last];
	mem_free(seen);
	return yes && end;
}

static bool is_nested(const struct twin_predict *w)
{
	for (uint32_t u = 0; u < TWIN_THREADS; u++) {
		uint32_t stack[TWIN_EVENTS], n = 0;

		for (uint32_t i = 0; i < w->n[u]; i++) {
			const struct event *e = get_event(w, u, i);

			if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
				stack[n++] = e->operand;
			if (e->op != OP_RELEASE && e->op != OP_RELEASE_SHARED)
				continue;
			if (!n || stack[n - 1] != e->operand)
				return false;
			n--;
		}
	}
	return true;
}

static bool index_events(struct twin_predict *w, const struct trace *t)
{
	uint32_t depth[TWIN_THREADS] = {0}, begin[TWIN_THREADS] = {0};

	memset(w, 0, sizeof *w);
	w->t = t;
	if (t->n > TWIN_EVENTS)
		return false;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];
		uint32_t u = e->thread, p;

		if (u >= TWIN_THREADS || (e->op == OP_FORK && e->operand >= TWIN_THREADS) ||
		    ((op_is_lock(e->op) || e->op == OP_BARRIER) && e->operand >= TWIN_LOCKS) ||
		    (op_is_access(e->op) && e->operand >= TWIN_VARS))
			return false;
		p = w->where[i] = w->n[u]++;
		w->event[u][p] = i;
		memcpy(w->held[u][p + 1], w->held[u][p], TWIN_LOCKS);
		if (e->op == OP_ACQUIRE)
			w->held[u][p + 1][e->operand] = 1;
		if (e->op == OP_ACQUIRE_SHARED)
			w->held[u][p + 1][e->operand] = 2;
		if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED)
			w->held[u][p + 1][e->operand] = 0;
		if (e->op == OP_BEGIN && !depth[u]++)
			begin[u] = i + 1;
		if (e->op == OP_END && !--depth[u])
			begin[u] = 0;
		w->block[i] = begin[u];
	}
	return true;
}

bool twin_predict_fits(const struct twin_predict *w, const uint64_t steps[3], const char *pattern)
{
	const struct event *e[3];

	for (int i = 0; i < 3; i++) {
		if (!steps[i] || steps[i] > w->t->n)
			return false;
		e[i] = &w->t->ev[steps[i] - 1];
		if (!op_is_access(e[i]->op) || e[i]->operand != e[0]->operand ||
		    !does_op(e[i], pattern[2 * i]))
			return false;
	}
	return e[0]->thread == e[2]->thread && e[1]->thread != e[0]->thread &&
	       steps[0] < steps[2] && w->block[steps[0] - 1] &&
	       w->block[steps[0] - 1] == w->block[steps[2] - 1];
}

bool twin_two_fits(const struct twin_predict *w, const uint64_t steps[4], const char *pattern)
{
	const struct event *e[4];

	for (int i = 0; i < 4; i++) {
		if (!steps[i] || steps[i] > w->t->n)
			return false;
		e[i] = &w->t->ev[steps[i] - 1];
		if (!op_is_access(e[i]->op) || !does_op(e[i], pattern[2 * i]))
			return false;
	}
	return e[0]->operand == e[1]->operand && e[2]->operand == e[3]->operand &&
	       e[0]->operand != e[2]->operand && e[0]->thread == e[3]->thread &&
	       e[1]->thread == e[2]->thread && e[0]->thread != e[1]->thread &&
	       steps[0] < steps[3] && w->block[steps[0] - 1] &&
	       w->block[steps[0] - 1] == w->block[steps[3] - 1] && w->block[steps[1] - 1] &&
	       w->block[steps[1] - 1] == w->block[steps[2] - 1];
}

/* Tries every f1 and f2 for the given e1 and e2. */
static void try_two_vars(struct twin_predict *w, uint32_t a, uint32_t b)
{
	const struct event *ev = w->t->ev;

	for (uint32_t f = 0; f < w->t->n; f++) {
		for (uint32_t g = 0; g < w->t->n; g++) {
			uint64_t steps[4] = {a + 1, f + 1, g + 1, b + 1};
			uint32_t first = f < g ? f : g, second = f < g ? g : f;
			int asked = -1;

			for (int k = 0; k < TWIN_TWO; k++) {
				bool *can;

				if (!twin_two_fits(w, steps, twin_two[k]))
					continue;
				can = &w->can_two[ev[a].operand][ev[b].operand][ev[a].thread]
						 [ev[f].thread][k];
				if (!*can && asked < 0)
					asked = is_possible(w, (uint32_t[]){a, first, second, b},
							    4);
				*can |= asked > 0;
			}
		}
	}
}

bool twin_predict(struct twin_predict *w, const struct trace *t)
{
	if (!index_events(w, t))
		return false;
	w->nested = is_nested(w);
	w->deadlock_free = is_deadlock_free(w);
	for (uint32_t a = 0; a < t->n; a++) {
		for (uint32_t f = 0; f < t->n; f++) {
			for (uint32_t b = a + 1; b < t->n; b++) {
				uint64_t steps[3] = {a + 1, f + 1, b + 1};
				int asked = -1;

				for (int k = 0; k < TWIN_PATTERNS; k++) {
					bool *can = &w->can[t->ev[a].operand % TWIN_VARS]
							   [t->ev[a].thread][t->ev[f].thread][k];

					if (*can || !twin_predict_fits(w, steps, twin_pattern[k]))
						continue;
					if (asked < 0)
						asked = is_possible(w, (uint32_t[]){a, f, b}, 3);
					*can = asked > 0;
				}
			}
		}
		for (uint32_t b = a + 1; b < t->n; b++)
			if (w->block[a] && w->block[a] == w->block[b])
				try_two_vars(w, a, b);
	}
	return true;
}

bool twin_predict_legal(const struct twin_predict *w, const uint64_t *schedule, size_t n,
			const uint64_t *steps, size_t nsteps, struct str *what)
{
	uint32_t pos[TWIN_THREADS] = {0};
	size_t next = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t k = schedule[i];
		const struct event *e;

		if (!k || k > w->t->n) {
			str_fmt(what, "there is no event %lu", (unsigned long)k);
			return false;
		}
		e = &w->t->ev[k - 1];
		if (pos[e->thread] != w->where[k - 1] || !twin_predict_enabled(w, pos, e->thread)) {
			str_fmt(what, "event %lu cannot happen there", (unsigned long)k);
			return false;
		}
		pos[e->thread]++;
		for (size_t s = 0; s < nsteps; s++) {
			/* f1 and f2 may come in any order. */
			bool either = nsteps == 4 && (s == 1 || s == 2) && (next == 1 || next == 2);

			if (k != steps[s])
				continue;
			if (s != next && !either) {
				str_fmt(what, "event %lu comes too early", (unsigned long)k);
				return false;
			}
			next++;
		}
	}
	if (next != nsteps || schedule[n - 1] != steps[nsteps - 1]) {
		str_add(what, "it does not end with e2");
		return false;
	}
	return true;
}
