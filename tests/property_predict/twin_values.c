#include "twin_values.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

enum { SLOTS = 1 << 20 };

/* Why reads of f's thread before f may be off; a schedule has one reason for all of them. */
enum twin_reason { TWIN_STRICT, TWIN_ALIKE, TWIN_LOCKED };

/* A write is 1 + the index of its event; 0 is the initial value. */
struct state {
	uint32_t pos[TWIN_THREADS];
	uint32_t write[TWIN_VARS];
	uint32_t off; /* 1 + position of the first read of f's thread that is off; 0: none */
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

/* Returns the value of a write; 0: not known. */
static uint8_t value_of_write(const struct problem *p, uint32_t write, uint32_t var)
{
	uint8_t value = write ? event_of(p, write - 1)->value : 0;

	for (uint32_t k = 0; k < p->w->t->n; k++) {
		const struct event *e = event_of(p, k);

		if (e->op != OP_READ || e->operand != var || !e->value || saw(p, k) != write)
			continue;
		if (value && value != e->value)
			return 0;
		value = e->value;
	}
	return value;
}

/* Is a write the same for event i as the one that it saw in the trace? */
static bool is_alike(const struct problem *p, uint32_t i, uint32_t write)
{
	uint32_t var = event_of(p, i)->operand;
	uint8_t seen = event_of(p, i)->op == OP_READ ? event_of(p, i)->value
						     : value_of_write(p, saw(p, i), var);

	return write == saw(p, i) || (seen && seen == value_of_write(p, write, var));
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

/* May event i see this write because the same code runs in both threads? */
static bool is_changed_alike(const struct problem *p, uint32_t i, uint32_t write)
{
	uint32_t e1 = p->step[0], f = p->step[1], was = saw(p, i);
	uint32_t var = event_of(p, i)->operand;
	const uint32_t *block = p->w->block;
	bool is_x = var == event_of(p, f)->operand;

	if (!p->alike || !is_plain_read(p, i, var) || block[i] != block[f] || (is_x && i < p->r0) ||
	    i >= f || !was || was - 1 < e1 || block[was - 1] != block[e1])
		return false;
	for (uint32_t k = is_x ? e1 : block[e1] - 1; k < p->g; k++)
		if (block[k] == block[e1] && is_plain_read(p, k, var) &&
		    place_of(p, k) == place_of(p, i) && is_alike(p, k, write))
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
	    !is_alike(p, e1, write) || event_of(p, i)->thread != event_of(p, f)->thread ||
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
	key = key * (TWIN_EVENTS + 1) + s->off;
	slot = (key * 0x9e3779b97f4a7c15ull >> 40) % SLOTS;
	while (p->seen[slot] && p->seen[slot] != key)
		slot = (slot + 1) % SLOTS;
	if (p->seen[slot])
		return false;
	p->seen[slot] = key;
	p->used[p->nused++] = slot;
	return true;
}

/* Was this write made by f's thread with or after a read that is off? */
static bool is_write_off(const struct problem *p, const struct state *s, uint32_t write)
{
	uint32_t f = p->step[p->nsteps - 2];

	return s->off && write && event_of(p, write - 1)->thread == event_of(p, f)->thread &&
	       p->w->where[write - 1] + 1 >= s->off;
}

/* Can f's thread, after a read that is off, and the others do event i? */
static bool is_allowed_after_off(const struct problem *p, const struct state *s, uint32_t i)
{
	uint32_t f = p->step[p->nsteps - 2], e2 = p->step[p->nsteps - 1],
		 thread = event_of(p, f)->thread;
	const struct event *e = event_of(p, i);

	if (!s->off)
		return true;
	if (e->thread == thread)
		return p->w->where[i] < p->tail;
	if (e->op == OP_JOIN)
		return e->operand != thread;
	return !reads(e) || i == e2 || !is_write_off(p, s, s->write[e->operand]);
}

/* Is event i a read that may be off, and see this write? */
static bool may_be_off(const struct problem *p, uint32_t i, uint32_t write)
{
	uint32_t f = p->step[p->nsteps - 2];

	if (event_of(p, i)->thread != event_of(p, f)->thread || p->w->where[i] >= p->tail)
		return false;
	return i >= f || is_changed_alike(p, i, write) || is_changed_under_lock(p, i, write);
}

/* Executes the thread's next event. Returns false if it cannot happen, or not like this. */
static bool execute(const struct problem *p, struct state *s, uint32_t thread)
{
	uint32_t e2 = p->step[p->nsteps - 1], i, write;
	const struct event *e;
	bool same;

	if (!twin_predict_enabled(p->w, s->pos, thread))
		return false;
	i = p->w->event[thread][s->pos[thread]];
	e = event_of(p, i);
	if (!is_allowed_after_off(p, s, i))
		return false;
	for (size_t k = 1; k < p->nsteps; k++)
		if (i == p->step[k] &&
		    s->pos[event_of(p, p->step[k - 1])->thread] <= p->w->where[p->step[k - 1]])
			return false;
	write = s->write[e->operand % TWIN_VARS];
	same = reads(e) &&
	       (write == saw(p, i) || (is_alike(p, i, write) && !is_write_off(p, s, write)));
	if (reads(e) && !same && i != e2) {
		if (!may_be_off(p, i, s->write[e->operand]))
			return false;
		if (!s->off)
			s->off = p->w->where[i] + 1;
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

/* Leaves one of the two reasons for which reads before f may be off, or none. */
static void choose_reason(struct problem *p, enum twin_reason reason)
{
	p->alike &= reason == TWIN_ALIKE;
	p->locked &= reason == TWIN_LOCKED;
}

bool twin_values_feasible(const struct twin_predict *w, const uint64_t *steps, size_t nsteps,
			  bool strict)
{
	static uint64_t seen[SLOTS], used[SLOTS];
	bool yes = false;

	for (enum twin_reason r = TWIN_STRICT; r <= (strict ? TWIN_STRICT : TWIN_LOCKED) && !yes;
	     r++) {
		struct problem p = {.seen = seen, .used = used};
		struct state start = {0};

		set_problem(&p, w, steps, nsteps);
		choose_reason(&p, r);
		yes = search(&p, &start);
		while (p.nused)
			seen[used[--p.nused]] = 0;
	}
	return yes;
}

/* Executes the schedule. Returns how many reads before f are off, or -1 if it is not correct. */
static int execute_schedule(const struct problem *p, const uint64_t *schedule, size_t n,
			    struct str *what)
{
	uint32_t f = p->step[p->nsteps - 2];
	struct state s = {0};
	int changed = 0;

	for (size_t k = 0; k < n; k++) {
		uint32_t i = (uint32_t)schedule[k] - 1, operand = event_of(p, i)->operand;
		bool before_f = event_of(p, i)->thread == event_of(p, f)->thread && i < f;

		changed += before_f && reads(event_of(p, i)) && !is_alike(p, i, s.write[operand]);
		if (!execute(p, &s, event_of(p, i)->thread)) {
			str_fmt(what, "event %u cannot happen, or sees another write", i + 1);
			return -1;
		}
	}
	return changed;
}

bool twin_values_correct(const struct twin_predict *w, const uint64_t *schedule, size_t n,
			 const uint64_t *steps, size_t nsteps, uint64_t *changed, struct str *what)
{
	for (enum twin_reason r = TWIN_STRICT; r <= TWIN_LOCKED; r++) {
		struct problem p = {0};
		int reads_changed;

		set_problem(&p, w, steps, nsteps);
		choose_reason(&p, r);
		str_reset(what);
		reads_changed = execute_schedule(&p, schedule, n, what);
		if (reads_changed < 0)
			continue;
		*changed += (uint64_t)reads_changed;
		return true;
	}
	return false;
}
