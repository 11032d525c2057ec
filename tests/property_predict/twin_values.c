#include "twin_values.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

enum { SLOTS = 1 << 20 };

/* A write is 1 + the index of its event; 0 is the initial value. */
struct state {
	uint32_t pos[TWIN_THREADS];
	uint32_t write[TWIN_VARS];
	bool stopped; /* f's thread saw another write from f on: it must not reach its tail */
};

struct problem {
	const struct twin_predict *w;
	uint32_t step[TWIN_STEPS]; /* indices of events */
	size_t nsteps;
	uint32_t tail; /* position in the thread of f */
	bool locked;   /* reads may be changed because of the lock: */
	bool lock[TWIN_LOCKS];
	bool alike;     /* reads may be changed on purpose: */
	uint32_t g, r0; /* indices of events */
	uint64_t *seen;
	uint64_t *used; /* slots of `seen`, to empty it again */
	size_t nused;
};

static const struct event *event_of(const struct problem *p, uint32_t i)
{
	return &p->w->t->ev[i];
}

static bool reads(const struct event *e)
{
	return e->op == OP_READ || e->op == OP_UPDATE;
}

static bool writes(const struct event *e)
{
	return e->op == OP_WRITE || e->op == OP_UPDATE;
}

/* Returns the write that event i saw in the trace. */
static uint32_t saw(const struct problem *p, uint32_t i)
{
	for (uint32_t k = i; k-- > 0;)
		if (writes(event_of(p, k)) && event_of(p, k)->operand == event_of(p, i)->operand)
			return k + 1;
	return 0;
}

static uint32_t place_of(const struct problem *p, uint32_t i)
{
	return p->w->t->style == STYLE_BOTH || p->w->t->style == STYLE_PLACES ? i + 1 : 0;
}

static uint32_t label_of(const struct problem *p, uint32_t i)
{
	return p->w->t->style == STYLE_SAME ? !!p->w->block[i] : p->w->block[i];
}

static bool is_plain_read(const struct problem *p, uint32_t i, uint32_t var)
{
	return event_of(p, i)->op == OP_READ && event_of(p, i)->operand == var;
}

/* Finds g and r0. Returns false if there are none. */
static bool find_alike(struct problem *p)
{
	uint32_t e1 = p->step[0], f = p->step[1], var = event_of(p, f)->operand;
	const uint32_t *block = p->w->block;

	if (!block[f] || label_of(p, e1) != label_of(p, f) || !is_plain_read(p, e1, var))
		return false;
	for (p->g = e1 + 1; p->g < p->w->t->n; p->g++)
		if (block[p->g] == block[e1] && event_of(p, p->g)->op == event_of(p, f)->op &&
		    event_of(p, p->g)->operand == var && place_of(p, p->g) == place_of(p, f))
			break;
	if (p->g == p->w->t->n)
		return false;
	for (p->r0 = f; p->r0-- > 0;)
		if (block[p->r0] == block[f] && is_plain_read(p, p->r0, var) &&
		    place_of(p, p->r0) == place_of(p, e1))
			return true;
	return false;
}

static uint8_t held_at(const struct problem *p, uint32_t i, uint32_t lock)
{
	return p->w->held[event_of(p, i)->thread][p->w->where[i]][lock];
}

/* Finds the locks that are held at e1, f and e2. Returns false if there are none. */
static bool find_locks(struct problem *p)
{
	bool any = false;

	for (uint32_t l = 0; l < TWIN_LOCKS; l++) {
		p->lock[l] = held_at(p, p->step[0], l) && held_at(p, p->step[1], l) &&
			     held_at(p, p->step[2], l);
		any |= p->lock[l];
	}
	return any && writes(event_of(p, p->step[1])) && event_of(p, p->step[0])->op == OP_READ;
}

/* Does the event only release a lock, or even less? */
static bool is_harmless(const struct problem *p, uint32_t i)
{
	const struct event *e = event_of(p, i);
	bool written = false, shared = false;

	if (!op_is_access(e->op))
		return e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED || e->op == OP_BEGIN ||
		       e->op == OP_END;
	for (uint32_t k = 0; k < p->w->t->n; k++) {
		if (!op_is_access(event_of(p, k)->op) || event_of(p, k)->operand != e->operand)
			continue;
		written |= writes(event_of(p, k));
		shared |= event_of(p, k)->thread != e->thread;
	}
	return !written || !shared;
}

/* Returns the position after the sections that the thread of f is in at f; or after f. */
static uint32_t find_sections_end(const struct problem *p, uint32_t f)
{
	uint32_t thread = event_of(p, f)->thread, at = p->w->where[f], end = at + 1;

	for (uint32_t l = 0; l < TWIN_LOCKS; l++) {
		uint32_t k = at;

		if (!p->w->held[thread][at][l])
			continue;
		while (k < p->w->n[thread] && p->w->held[thread][k + 1][l])
			k++;
		if (k == p->w->n[thread])
			return at + 1;
		if (k + 1 > end)
			end = k + 1;
	}
	for (uint32_t k = at + 1; k < end; k++) {
		enum op op = (enum op)event_of(p, p->w->event[thread][k])->op;

		if (op >= OP_FORK && op <= OP_BARRIER)
			return at + 1;
	}
	return end;
}

static uint32_t find_tail(const struct problem *p)
{
	uint32_t f = p->step[p->nsteps - 2], thread = event_of(p, f)->thread;
	uint32_t tail = find_sections_end(p, f);

	while (tail < p->w->n[thread] && is_harmless(p, p->w->event[thread][tail]))
		tail++;
	return tail;
}

static void set_problem(struct problem *p, const struct twin_predict *w, const uint64_t *steps,
			size_t nsteps)
{
	p->w = w;
	p->nsteps = nsteps;
	for (size_t i = 0; i < nsteps; i++)
		p->step[i] = (uint32_t)steps[i] - 1;
	/* f1 and f2 may come in any order. */
	if (nsteps == 4 && p->step[1] > p->step[2]) {
		p->step[1] = (uint32_t)steps[2] - 1;
		p->step[2] = (uint32_t)steps[1] - 1;
	}
	p->tail = find_tail(p);
	p->alike = nsteps == 3 && find_alike(p);
	p->locked = nsteps == 3 && find_locks(p);
}

/* May event i see this write because the cut changes it on purpose? */
static bool is_changed_on_purpose(const struct problem *p, uint32_t i, uint32_t write)
{
	uint32_t e1 = p->step[0], f = p->step[1], was = saw(p, i);
	uint32_t var = event_of(p, f)->operand;
	const uint32_t *block = p->w->block;

	if (!p->alike || !is_plain_read(p, i, var) || block[i] != block[f] || i < p->r0 || i >= f ||
	    !was || was - 1 < e1 || block[was - 1] != block[e1])
		return false;
	for (uint32_t k = e1; k < p->g; k++)
		if (block[k] == block[e1] && is_plain_read(p, k, var) &&
		    place_of(p, k) == place_of(p, i) && saw(p, k) == write)
			return true;
	return false;
}

/* May event i see this write because of a lock? */
static bool is_changed_under_lock(const struct problem *p, uint32_t i, uint32_t write)
{
	uint32_t e1 = p->step[0], f = p->step[1], e2 = p->step[2], was = saw(p, i);
	uint32_t var = event_of(p, f)->operand;
	const uint32_t *block = p->w->block;
	bool held = false;

	if (!p->locked || !is_plain_read(p, i, var) || i >= f || !was || was - 1 < e1 ||
	    write != saw(p, e1) || event_of(p, i)->thread != event_of(p, f)->thread ||
	    event_of(p, was - 1)->thread != event_of(p, e1)->thread ||
	    (block[f] && block[i] != block[f]) ||
	    (block[e1] ? block[was - 1] != block[e1] : was - 1 > e2))
		return false;
	for (uint32_t k = i + 1; k < f; k++)
		if (event_of(p, k)->thread == event_of(p, f)->thread && writes(event_of(p, k)) &&
		    event_of(p, k)->operand == var)
			return false;
	for (uint32_t l = 0; l < TWIN_LOCKS; l++)
		held |= p->lock[l] && held_at(p, i, l);
	return held;
}

/* Puts the state into the set. Returns false if it was there. */
static bool add_state(struct problem *p, const struct state *s)
{
	uint64_t key = 1, slot;

	for (uint32_t u = 0; u < TWIN_THREADS; u++)
		key = key * (TWIN_EVENTS + 1) + s->pos[u];
	for (uint32_t x = 0; x < TWIN_VARS; x++)
		key = key * (TWIN_EVENTS + 1) + s->write[x];
	key = key * 2 + s->stopped;
	slot = (key * 0x9e3779b97f4a7c15ull >> 40) % SLOTS;
	while (p->seen[slot] && p->seen[slot] != key)
		slot = (slot + 1) % SLOTS;
	if (p->seen[slot])
		return false;
	p->seen[slot] = key;
	p->used[p->nused++] = slot;
	return true;
}

/* Executes the thread's next event. Returns false if it cannot happen, or not like this. */
static bool execute(const struct problem *p, struct state *s, uint32_t thread)
{
	uint32_t f = p->step[p->nsteps - 2], e2 = p->step[p->nsteps - 1], i;
	const struct event *e;

	if (!twin_predict_enabled(p->w, s->pos, thread))
		return false;
	i = p->w->event[thread][s->pos[thread]];
	if (s->stopped && thread == event_of(p, f)->thread && p->w->where[i] >= p->tail)
		return false;
	e = event_of(p, i);
	for (size_t k = 1; k < p->nsteps; k++)
		if (i == p->step[k] &&
		    s->pos[event_of(p, p->step[k - 1])->thread] <= p->w->where[p->step[k - 1]])
			return false;
	if (reads(e) && s->write[e->operand] != saw(p, i) && i != e2) {
		if (thread == event_of(p, f)->thread && i >= f && p->w->where[i] < p->tail)
			s->stopped = true;
		else if (!is_changed_on_purpose(p, i, s->write[e->operand]) &&
			 !is_changed_under_lock(p, i, s->write[e->operand]))
			return false;
	}
	if (writes(e))
		s->write[e->operand] = i + 1;
	s->pos[thread]++;
	return true;
}

static bool search(struct problem *p, const struct state *s)
{
	uint32_t e2 = p->step[p->nsteps - 1];

	if (s->pos[event_of(p, e2)->thread] > p->w->where[e2])
		return true;
	if (p->nused > SLOTS / 2 || !add_state(p, s))
		return false;
	for (uint32_t u = 0; u < TWIN_THREADS; u++) {
		struct state next = *s;

		if (execute(p, &next, u) && search(p, &next))
			return true;
	}
	return false;
}

bool twin_values_feasible(const struct twin_predict *w, const uint64_t *steps, size_t nsteps,
			  bool strict)
{
	static uint64_t seen[SLOTS], used[SLOTS];
	struct problem p = {.seen = seen, .used = used};
	struct state start = {0};
	bool yes;

	set_problem(&p, w, steps, nsteps);
	p.alike &= !strict;
	p.locked &= !strict;
	yes = search(&p, &start);
	while (p.nused)
		seen[used[--p.nused]] = 0;
	return yes;
}

bool twin_values_correct(const struct twin_predict *w, const uint64_t *schedule, size_t n,
			 const uint64_t *steps, size_t nsteps, uint64_t *changed, struct str *what)
{
	uint32_t write[TWIN_VARS] = {0}, f, e2;
	struct problem p = {0};
	bool f_is_free = true;

	set_problem(&p, w, steps, nsteps);
	f = p.step[nsteps - 2];
	e2 = p.step[nsteps - 1];
	for (size_t i = 0; i < n; i++) {
		uint32_t k = (uint32_t)schedule[i] - 1;

		f_is_free &=
			event_of(&p, k)->thread != event_of(&p, f)->thread || w->where[k] < p.tail;
	}
	for (size_t k = 0; k < n; k++) {
		uint32_t i = (uint32_t)schedule[k] - 1;
		const struct event *e = event_of(&p, i);

		if (reads(e) && write[e->operand] != saw(&p, i) && i != e2 &&
		    !(i >= f && e->thread == event_of(&p, f)->thread && f_is_free)) {
			if (!is_changed_on_purpose(&p, i, write[e->operand]) &&
			    !is_changed_under_lock(&p, i, write[e->operand])) {
				str_fmt(what, "event %u sees event %u, not %u", i + 1,
					write[e->operand], saw(&p, i));
				return false;
			}
			++*changed;
		}
		if (writes(e))
			write[e->operand] = i + 1;
	}
	return true;
}
