#include "engine/segment.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "engine/describe.h"

#include "base/banned.h"

/* The accesses of a variable since the last lock operation. */
struct segment_trim {
	uint32_t life, stretch;
	/* Of reads, writes, updates: 0: none; 1: one; else 2 + the index of the last. */
	uint32_t last[3];
};
enum { TRIM = 256 };

struct segment_lock {
	held what;
	heldset before; /* the locks held before */
	strref place;
	uint64_t event;
	struct segment_origin in; /* the block in which it was acquired */
};

/* The segment that a thread is in. */
struct segment_open {
	struct segment_op *op;
	size_t cap;
	uint32_t n, dead; /* operations; those of them that were trimmed */
	uint32_t room;    /* with more operations than this, drop the dead ones */
	bool started, accessed, unnested;
	bool in_block;
	uint64_t begin;
	strref label, place;
	uint32_t phase;
	struct phase at;           /* of `phase` */
	struct segment_lock *lock; /* the held locks that take part, in the order of acquires */
	size_t lock_cap;
	uint32_t nlocks;
	struct segment_trim *trim;
	uint32_t stretch;
};

enum { FIRST_ROOM = 1024 };

void segments_init(struct segments *u)
{
	*u = (struct segments){0};
	heldlocks_init(&u->held);
}

static void make_room(struct segments *u, const struct batch *b)
{
	const struct table *names = b->names->table;

	u->names = b->names;
	phases_room(&u->phases, names[NAMES_THREAD].n, names[NAMES_LOCK].n);
	contention_room(&u->contention, names[NAMES_VAR].n, names[NAMES_LOCK].n);
	heldlocks_room(&u->held, names[NAMES_THREAD].n);
	MEM_GROW0(u->open, u->open_cap, names[NAMES_THREAD].n);
}

void segments_look(struct segments *u, const struct batch *b)
{
	make_room(u, b);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct event *e = &b->ev[i];

		if (e->op == OP_NONE)
			continue;
		phases_take(&u->phases, e);
		contention_look(&u->contention, &u->phases, e);
	}
	u->events += b->n;
}

void segments_learned(struct segments *u)
{
	phases_free(&u->phases);
	contention_rewind(&u->contention);
	u->nslots = 1024;
	u->slot = mem_zalloc(u->nslots * sizeof *u->slot);
}

/* Returns the number of the phase that the thread is in. */
static uint32_t number_phase(struct segments *u, struct segment_open *o, uint32_t thread)
{
	struct phase now = phases_now(&u->phases, thread);
	const struct phase_clock *clock = phases_clock(&u->phases, thread);
	struct segment_phase *p;

	if (o->at.index == now.index && o->at.slot == now.slot)
		return o->phase;
	MEM_GROW(u->phase, u->phase_cap, u->nphases + 1);
	p = &u->phase[u->nphases];
	*p = (struct segment_phase){.at = now};
	p->clock.n = clock->n;
	p->clock.cap = clock->n;
	p->clock.at = mem_alloc(clock->n * sizeof *clock->at);
	memcpy(p->clock.at, clock->at, clock->n * sizeof *clock->at);
	o->at = now;
	return o->phase = u->nphases++;
}

static struct segment_op *add_op(struct segment_open *o)
{
	MEM_GROW(o->op, o->cap, (size_t)o->n + 1);
	return &o->op[o->n++];
}

static void start_segment(struct segments *u, struct segment_open *o, uint32_t thread,
			  uint64_t event)
{
	number_phase(u, o, thread);
	o->started = true;
	o->accessed = o->unnested = false;
	o->n = o->dead = 0;
	o->room = FIRST_ROOM;
	o->stretch++;
	if (!o->in_block)
		o->begin = event;
	for (uint32_t i = 0; i < o->nlocks; i++) {
		const struct segment_lock *l = &o->lock[i];

		*add_op(o) = (struct segment_op){.event = l->event,
						 .what = held_lock(l->what),
						 .held = l->before,
						 .place = l->place,
						 .op = held_exclusive(l->what) ? OP_ACQUIRE
									       : OP_ACQUIRE_SHARED,
						 .implied = true};
		if (l->in.begin) {
			MEM_GROW(u->origin, u->origin_cap, u->norigins + 1);
			u->origin[u->norigins++] = l->in;
		}
	}
}

static void drop_dead(struct segment_open *o)
{
	uint32_t kept = 0;

	if (!o->dead)
		return;
	for (uint32_t i = 0; i < o->n; i++)
		if (o->op[i].op != OP_NONE)
			o->op[kept++] = o->op[i];
	o->n = kept;
	o->dead = 0;
}

static uint32_t hash_of(const struct segment *t, const struct segment_op *op)
{
	uint64_t h = ((uint64_t)t->label << 1 | t->transaction) +
		     (uint64_t)(t->phase + 1) * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < t->n; i++) {
		h ^= ((uint64_t)op[i].what << 8 | (uint64_t)op[i].op << 1 | op[i].implied) +
		     h * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
		h *= 0xbf58476d1ce4e5b9ull;
	}
	return (uint32_t)(h ^ h >> 32);
}

static bool are_alike(const struct segments *u, const struct segment *a, const struct segment *b)
{
	const struct segment_op *x = segment_ops(u, a), *y = segment_ops(u, b);

	if (a->n != b->n || a->phase != b->phase || a->label != b->label ||
	    a->transaction != b->transaction)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (x[i].what != y[i].what || x[i].op != y[i].op || x[i].implied != y[i].implied)
			return false;
	return true;
}

/* Returns the slot of an equal segment, or the free slot for this one. */
static struct segment_slot *find_slot(const struct segments *u, uint32_t hash,
				      const struct segment *t)
{
	size_t i = hash & (u->nslots - 1);

	/* Compare the hashes first: the segments themselves are not in the cache. */
	for (; u->slot[i].segment; i = (i + 1) & (u->nslots - 1))
		if (u->slot[i].hash == hash && are_alike(u, &u->segment[u->slot[i].segment - 1], t))
			break;
	return &u->slot[i];
}

static void grow_slots(struct segments *u)
{
	struct segment_slot *old = u->slot;
	size_t n = u->nslots;

	u->nslots *= 2;
	u->slot = mem_zalloc(u->nslots * sizeof *u->slot);
	for (size_t k = 0; k < n; k++) {
		size_t i = old[k].hash & (u->nslots - 1);

		if (!old[k].segment)
			continue;
		while (u->slot[i].segment)
			i = (i + 1) & (u->nslots - 1);
		u->slot[i] = old[k];
	}
	mem_free(old);
}

/*
 * Keep a segment, or count it if there is an equal one. Its operations are after all others; they
 * become part of the array only if it is kept.
 */
static void keep_segment(struct segments *u, const struct segment *new)
{
	uint32_t hash = hash_of(new, segment_ops(u, new));
	struct segment_slot *slot = find_slot(u, hash, new);

	if (slot->segment) {
		u->segment[slot->segment - 1].times++;
		return;
	}
	MEM_GROW(u->segment, u->cap, u->n + 1);
	u->segment[u->n++] = *new;
	*slot = (struct segment_slot){hash, (uint32_t)u->n};
	u->nops += new->n;
	if (u->n > u->nslots / 2)
		grow_slots(u);
}

static void end_segment(struct segments *u, struct segment_open *o, uint32_t thread)
{
	struct segment new = {.begin = o->begin,
			      .times = 1,
			      .first = u->nops,
			      .thread = thread,
			      .phase = o->phase,
			      .label = o->in_block ? o->label : 0,
			      .place = o->in_block ? o->place : 0,
			      .transaction = o->in_block,
			      .unnested = o->unnested};

	if (!o->started)
		return;
	o->started = false;
	if (!o->accessed)
		return;
	drop_dead(o);
	new.n = o->n;
	MEM_GROW(u->op, u->op_cap, u->nops + o->n);
	memcpy(u->op + u->nops, o->op, o->n * sizeof *o->op);
	u->seen++;
	keep_segment(u, &new);
}

/*
 * Before an access is added: drop the last one of its kind in this stretch without
 * lock operations, unless that is also the first. The new one is the last from now on.
 */
static void trim_last(struct segment_open *o, uint32_t life, enum op op)
{
	struct segment_trim *t;
	uint32_t *last;

	if (!o->trim)
		o->trim = mem_zalloc(TRIM * sizeof *o->trim);
	t = &o->trim[life % TRIM];
	if (t->stretch != o->stretch || t->life != life)
		*t = (struct segment_trim){.life = life, .stretch = o->stretch};
	last = &t->last[op - OP_READ];
	if (*last >= 2) {
		o->op[*last - 2].op = OP_NONE;
		o->dead++;
	}
	*last = *last ? o->n + 2 : 1;
}

static void take_access(struct segments *u, struct segment_open *o, const struct event *e,
			uint64_t event)
{
	uint32_t life = contention_life(&u->contention, e->operand);

	if (!contention_life_takes_part(&u->contention, life))
		return;
	if (!o->started)
		start_segment(u, o, e->thread, event);
	if (o->n >= o->room && o->dead > o->n / 2) {
		drop_dead(o);
		o->stretch++;
		o->room = 2 * o->n > FIRST_ROOM ? 2 * o->n : FIRST_ROOM;
	}
	trim_last(o, life, e->op);
	*add_op(o) = (struct segment_op){.event = event,
					 .what = life,
					 .held = heldlocks_of(&u->held, e->thread),
					 .place = e->place,
					 .op = e->op};
	o->accessed = true;
}

static void add_lock(struct segment_open *o, const struct event *e, uint64_t event, heldset before)
{
	MEM_GROW(o->lock, o->lock_cap, (size_t)o->nlocks + 1);
	o->lock[o->nlocks++] =
		(struct segment_lock){.what = e->operand << 1 | (e->op == OP_ACQUIRE),
				      .before = before,
				      .place = e->place,
				      .event = event};
	if (o->in_block)
		o->lock[o->nlocks - 1].in =
			(struct segment_origin){event, o->begin, o->label, o->place};
}

static void drop_lock(struct segments *u, struct segment_open *o, uint32_t lock)
{
	uint32_t i = o->nlocks;

	while (i > 0 && held_lock(o->lock[i - 1].what) != lock)
		i--;
	if (!i)
		return;
	if (i < o->nlocks) {
		u->unnested++;
		o->unnested = true;
	}
	memmove(&o->lock[i - 1], &o->lock[i], (o->nlocks - i) * sizeof *o->lock);
	o->nlocks--;
}

static void take_lock(struct segments *u, struct segment_open *o, const struct event *e,
		      uint64_t event)
{
	bool in = e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED;
	heldset before = heldlocks_of(&u->held, e->thread);

	heldlocks_take(&u->held, e);
	if (!contention_lock_takes_part(&u->contention, e->operand))
		return;
	if (!o->started)
		start_segment(u, o, e->thread, event);
	o->stretch++;
	*add_op(o) = (struct segment_op){
		.event = event, .what = e->operand, .held = before, .place = e->place, .op = e->op};
	if (in)
		add_lock(o, e, event, before);
	else
		drop_lock(u, o, e->operand);
}

static void take_block(struct segments *u, struct segment_open *o, const struct event *e,
		       uint64_t event)
{
	end_segment(u, o, e->thread);
	o->in_block = e->outer == OUTER_BEGIN;
	o->begin = event;
	o->label = e->outer == OUTER_BEGIN ? event_label(e) : 0;
	o->place = e->place;
}

static void record_event(struct segments *u, const struct event *e, uint64_t event)
{
	struct segment_open *o = &u->open[e->thread];

	if (e->op == OP_FORK || e->op == OP_JOIN || e->op == OP_BARRIER) {
		end_segment(u, o, e->thread);
		phases_take(&u->phases, e);
		return;
	}
	phases_take(&u->phases, e);
	if (op_is_access(e->op))
		take_access(u, o, e, event);
	else if (op_is_lock(e->op))
		take_lock(u, o, e, event);
	else if (e->outer)
		take_block(u, o, e, event);
	else if (e->op == OP_ALLOC || e->op == OP_FREE)
		contention_reborn(&u->contention, e->operand);
	if (o->started && !o->in_block && !o->nlocks)
		end_segment(u, o, e->thread);
}

void segments_record(struct segments *u, const struct batch *b)
{
	make_room(u, b);
	for (uint32_t i = 0; i < b->n; i++)
		if (b->ev[i].op != OP_NONE)
			record_event(u, &b->ev[i], b->first + i);
}

static void free_open(struct segments *u)
{
	for (size_t i = 0; i < u->open_cap; i++) {
		mem_free(u->open[i].op);
		mem_free(u->open[i].lock);
		mem_free(u->open[i].trim);
	}
	mem_free(u->open);
	u->open = NULL;
	u->open_cap = 0;
}

void segments_done(struct segments *u)
{
	for (size_t i = 0; i < u->open_cap; i++)
		end_segment(u, &u->open[i], (uint32_t)i);
	free_open(u);
	mem_free(u->slot);
	u->slot = NULL;
}

void segments_drop(struct segments *u)
{
	free_open(u);
	for (uint32_t i = 0; i < u->nphases; i++)
		mem_free(u->phase[i].clock.at);
	mem_free(u->segment);
	mem_free(u->op);
	mem_free(u->phase);
	mem_free(u->slot);
	heldlocks_free(&u->held);
	contention_free(&u->contention);
	phases_free(&u->phases);
	mem_free(u->origin);
	*u = (struct segments){0};
}

struct event_ref segments_event_ref(const struct segments *u, const struct segment *t, uint32_t i)
{
	const struct segment_op *op = segment_ops(u, t) + i;
	struct event_ref s = {.event = op->event,
			      .thread = t->thread,
			      .operand =
				      op_is_access(op->op) ? segments_var(u, op->what) : op->what,
			      .place = op->place,
			      .op = op->op};

	/* An implied acquire was not done in this block, but perhaps in an earlier one. */
	for (size_t k = 0; op->implied && k < u->norigins; k++)
		if (u->origin[k].event == op->event) {
			s.begin = u->origin[k].begin;
			s.label = u->origin[k].label;
			s.begin_place = u->origin[k].place;
			break;
		}
	if (t->transaction && op->event > t->begin) {
		s.begin = t->begin;
		s.label = t->label;
		s.begin_place = t->place;
	}
	return s;
}

struct finding_step segments_step(const struct segments *u, const struct segment *t, uint32_t i,
				  struct finding *f)
{
	struct event_ref s = segments_event_ref(u, t, i);
	struct finding_step step = event_ref_step(f, u->names, &s);

	describe_held(f, u->names, &step, heldlocks_view(&u->held, segment_ops(u, t)[i].held));
	return step;
}

struct finding_block segments_block(const struct segments *u, const struct segment *t,
				    struct finding *f)
{
	return (struct finding_block){.thread = describe_thread(f, u->names, t->thread),
				      .label = describe_string(f, u->names, t->label),
				      .place = describe_string(f, u->names, t->place),
				      .begin = t->transaction ? t->begin : 0};
}
