#include "twin_segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

enum { THREADS = 6, LENGTH = 64, LOCKS = 16, VARS = 8 };

/*
 * What distinguishes runs. By view: for each read the write that it saw, and a bit for each last
 * write. By conflict: for each access the set of conflicting accesses before it.
 */
struct outcome {
	uint64_t word[LENGTH];
};

struct twin_search {
	const struct trace *t;
	enum twin_sameness how;
	size_t most, looked;
	uint32_t nthreads;
	uint32_t event[THREADS][LENGTH], n[THREADS], at[THREADS];
	uint32_t block[LENGTH]; /* by event: its block's begin, or the event itself if outside */
	uint32_t run[LENGTH], nrun;
	bool serial; /* whether to run whole transactions only */
	struct outcome *known;
	size_t nknown, cap;
	bool cut, stuck;
};

static bool is_write(const struct event *e)
{
	return e->op == OP_WRITE || e->op == OP_UPDATE;
}

static bool is_read(const struct event *e)
{
	return e->op == OP_READ || e->op == OP_UPDATE;
}

static void find_outcome(const struct twin_search *s, struct outcome *o)
{
	uint64_t last[VARS] = {0};

	memset(o, 0, sizeof *o);
	for (uint32_t i = 0; i < s->nrun; i++) {
		uint32_t e = s->run[i];
		const struct event *ev = &s->t->ev[e];

		if (!op_is_access(ev->op))
			continue;
		if (s->how == BY_VIEW && is_read(ev))
			o->word[e] = last[ev->operand];
		for (uint32_t k = 0; k < i && s->how == BY_CONFLICT; k++) {
			const struct event *before = &s->t->ev[s->run[k]];

			if (op_is_access(before->op) && before->operand == ev->operand &&
			    (is_write(before) || is_write(ev)))
				o->word[e] |= 1ull << s->run[k];
		}
		if (is_write(ev))
			last[ev->operand] = e + 1;
	}
	for (uint32_t x = 0; x < VARS && s->how == BY_VIEW; x++)
		if (last[x])
			o->word[last[x] - 1] |= 1ull << 32;
}

static bool is_known(const struct twin_search *s, const struct outcome *o)
{
	for (size_t i = 0; i < s->nknown; i++)
		if (!memcmp(&s->known[i], o, sizeof *o))
			return true;
	return false;
}

static void end_run(struct twin_search *s)
{
	struct outcome o;

	find_outcome(s, &o);
	s->looked++;
	if (!s->serial) {
		s->cut |= !is_known(s, &o);
		return;
	}
	if (is_known(s, &o))
		return;
	MEM_GROW(s->known, s->cap, s->nknown + 1);
	s->known[s->nknown++] = o;
}

/* Do the locks allow this event to be the next? */
static bool locks_allow(const struct twin_search *s, uint32_t e)
{
	const struct event *ev = &s->t->ev[e];
	bool wants = ev->op == OP_ACQUIRE, shares = ev->op == OP_ACQUIRE_SHARED;
	int exclusive = 0, shared = 0;

	for (uint32_t i = 0; i < s->nrun && (wants || shares); i++) {
		const struct event *b = &s->t->ev[s->run[i]];

		if (!op_is_lock(b->op) || b->operand != ev->operand)
			continue;
		exclusive += (b->op == OP_ACQUIRE) - (b->op == OP_RELEASE);
		shared += (b->op == OP_ACQUIRE_SHARED) - (b->op == OP_RELEASE_SHARED);
	}
	return !exclusive && !(wants && shared);
}

static void run_on(struct twin_search *s)
{
	bool moved = false, over = true;

	if (s->looked > s->most || (s->cut && !s->serial))
		return;
	for (uint32_t t = 0; t < s->nthreads; t++) {
		uint32_t e, last = s->nrun ? s->run[s->nrun - 1] : 0;

		if (s->at[t] == s->n[t])
			continue;
		over = false;
		e = s->event[t][s->at[t]];
		/* In a serial order, a thread inside a transaction continues. */
		if (s->serial && s->nrun && s->t->ev[last].thread != t) {
			uint32_t u = s->t->ev[last].thread;

			if (s->at[u] < s->n[u] && s->block[s->event[u][s->at[u]]] == s->block[last])
				continue;
		}
		/* A serial order is about reads and writes; its lock operations do not count. */
		if (!s->serial && !locks_allow(s, e))
			continue;
		moved = true;
		s->at[t]++;
		s->run[s->nrun++] = e;
		run_on(s);
		s->nrun--;
		s->at[t]--;
	}
	if (over)
		end_run(s);
	else if (!moved && !s->serial)
		s->stuck = true;
}

static void index_events(struct twin_search *s)
{
	uint32_t depth[THREADS] = {0}, open[THREADS] = {0};

	for (uint32_t i = 0; i < s->t->n; i++) {
		const struct event *e = &s->t->ev[i];
		uint32_t t = e->thread;

		if (e->op == OP_NONE)
			continue;
		s->nthreads = t >= s->nthreads ? t + 1 : s->nthreads;
		if (e->op == OP_BEGIN && !depth[t]++)
			open[t] = i;
		if (e->op == OP_END)
			depth[t]--;
		if (e->op == OP_BEGIN || e->op == OP_END)
			continue;
		s->block[i] = depth[t] ? open[t] : i;
		s->event[t][s->n[t]++] = i;
	}
}

enum twin_verdict twin_segments(const struct trace *t, enum twin_sameness how, size_t most)
{
	struct twin_search s = {.t = t, .how = how, .most = most, .serial = true};
	enum twin_verdict v;

	if (t->n > LENGTH)
		return TWIN_LARGE;
	index_events(&s);
	run_on(&s);
	v = s.looked > most ? TWIN_LARGE : TWIN_ATOMIC;
	s.serial = false;
	s.looked = 0;
	if (v == TWIN_ATOMIC)
		run_on(&s);
	if (s.cut)
		v = TWIN_CUT;
	else if (s.looked > most)
		v = TWIN_LARGE;
	else if (s.stuck)
		v = TWIN_DEADLOCK;
	mem_free(s.known);
	return v;
}
