/*
 * deadlock: goodlock (Havelund 2000; with gate locks and thread phases as in
 * Agarwal, Bensalem and others, 2005-2010) for cycles of any length. This half
 * records which locks are wanted while which are held.
 *
 * An acquire by a thread that holds no lock is no wish: it costs what heldlocks does,
 * and a record of where it was. A nested acquire is looked up in a hash table, and is
 * nearly always there.
 */
#include "engine/lock/deadlock.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/describe.h"

#include "base/banned.h"

/* The memory for wishes, clocks and outer acquires; wishes beyond it are only counted. */
#define BYTES_MAX ((size_t)512 << 20)

/* An acquire, and the locks that the thread held before it. */
struct acquired {
	struct event_ref at;
	heldset set;
};

struct thread {
	struct acquired *held; /* the locks that it holds, in the order of acquires */
	size_t cap;
	uint32_t n;
	uint32_t clock_index; /* index of the phase of its last kept clock; 0: none */
	uint32_t clock;
};

struct deadlock {
	struct phases phases;
	struct heldlocks held;
	struct event_ref_blocks blocks;
	struct thread *thread;
	size_t thread_cap;
	struct deadlock_wish *wish;
	size_t nwishes, wish_cap;
	uint32_t *slot; /* hash of wishes: 1 + index */
	size_t nslots;
	struct acquired *outer;
	size_t nouter, outer_cap;
	struct phase_clock *clock;
	size_t nclocks, clock_cap;
	size_t bytes;
	const struct names *names;
	struct finding_sink *sink;
	uint64_t unnested, dropped, cycles;
	bool cut;
};

static void *deadlock_create(const void *options, struct finding_sink *sink)
{
	struct deadlock *d = mem_zalloc(sizeof *d);

	(void)options;
	heldlocks_init(&d->held);
	d->sink = sink;
	d->nslots = 256;
	d->slot = mem_zalloc(d->nslots * sizeof *d->slot);
	return d;
}

static uint32_t *find_slot(const struct deadlock *d, struct phase phase, heldset set, held want)
{
	uint32_t key[4] = {phase.slot, phase.index, set, want};
	size_t i = XXH3_64bits(key, sizeof key) & (d->nslots - 1);

	for (; d->slot[i]; i = (i + 1) & (d->nslots - 1)) {
		const struct deadlock_wish *w = &d->wish[d->slot[i] - 1];

		if (w->phase.slot == phase.slot && w->phase.index == phase.index && w->set == set &&
		    w->want == want)
			break;
	}
	return &d->slot[i];
}

static void grow_slots(struct deadlock *d)
{
	mem_free(d->slot);
	d->nslots *= 2;
	d->slot = mem_zalloc(d->nslots * sizeof *d->slot);
	for (size_t i = 0; i < d->nwishes; i++) {
		const struct deadlock_wish *w = &d->wish[i];

		*find_slot(d, w->phase, w->set, w->want) = (uint32_t)i + 1;
	}
}

/* Keep a copy of the thread's clock in this phase; returns its index. */
static uint32_t keep_clock(struct deadlock *d, uint32_t thread, uint32_t index)
{
	const struct phase_clock *now = phases_clock(&d->phases, thread);
	struct thread *t = &d->thread[thread];
	struct phase_clock copy = {mem_alloc(now->n * sizeof *now->at), now->n, now->n};

	memcpy(copy.at, now->at, now->n * sizeof *now->at);
	MEM_GROW(d->clock, d->clock_cap, d->nclocks + 1);
	d->clock[d->nclocks] = copy;
	t->clock_index = index;
	t->clock = (uint32_t)d->nclocks++;
	return t->clock;
}

static void add_wish(struct deadlock *d, const struct event *e, uint64_t event, heldset set)
{
	struct thread *t = &d->thread[e->thread];
	struct phase now = phases_now(&d->phases, e->thread);
	held want = e->operand << 1 | (e->op == OP_ACQUIRE);
	struct heldset_view locks = heldlocks_view(&d->held, set);
	uint32_t *slot = find_slot(d, now, set, want);
	bool new_clock = t->clock_index != now.index;
	size_t bytes = sizeof *d->wish + locks.n * sizeof *d->outer;

	if (*slot)
		return;
	if (new_clock)
		bytes += phases_clock(&d->phases, e->thread)->n * sizeof(uint32_t);
	if (d->bytes + bytes > BYTES_MAX) {
		d->dropped++;
		return;
	}
	d->bytes += bytes;
	*slot = (uint32_t)d->nwishes + 1;
	MEM_GROW(d->wish, d->wish_cap, d->nwishes + 1);
	d->wish[d->nwishes++] = (struct deadlock_wish){
		.at = event_ref_of(&d->blocks, e, event),
		.phase = now,
		.clock = new_clock ? keep_clock(d, e->thread, now.index) : t->clock,
		.set = set,
		.want = want,
		.outer = d->nouter,
	};
	MEM_GROW(d->outer, d->outer_cap, d->nouter + locks.n);
	for (uint32_t i = 0; i < locks.n; i++) {
		uint32_t k = 0;

		while (t->held[k].at.operand != held_lock(locks.v[i]))
			k++;
		d->outer[d->nouter++] = t->held[k];
	}
	if (d->nwishes > d->nslots / 2)
		grow_slots(d);
}

static void push_acquire(struct deadlock *d, const struct event *e, uint64_t event)
{
	struct thread *t = &d->thread[e->thread];
	heldset set = heldlocks_of(&d->held, e->thread);

	if (set != HELD_NONE)
		add_wish(d, e, event, set);
	MEM_GROW(t->held, t->cap, t->n + 1);
	t->held[t->n++] = (struct acquired){event_ref_of(&d->blocks, e, event), set};
}

static void drop_acquire(struct deadlock *d, const struct event *e)
{
	struct thread *t = &d->thread[e->thread];
	uint32_t i = t->n - 1;

	while (t->held[i].at.operand != e->operand)
		i--;
	d->unnested += i != t->n - 1;
	memmove(&t->held[i], &t->held[i + 1], (t->n - 1 - i) * sizeof *t->held);
	t->n--;
}

static void deadlock_take(void *engine, const struct batch *b)
{
	struct deadlock *d = engine;
	const struct table *names = b->names->table;

	MEM_GROW0(d->thread, d->thread_cap, names[NAMES_THREAD].n);
	phases_room(&d->phases, names[NAMES_THREAD].n, names[NAMES_LOCK].n);
	heldlocks_room(&d->held, names[NAMES_THREAD].n);
	event_ref_blocks_room(&d->blocks, names[NAMES_THREAD].n);
	d->names = b->names;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct event *e = &b->ev[i];

		if (e->op == OP_NONE)
			continue;
		phases_take(&d->phases, e);
		if (op_is_lock(e->op)) {
			if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
				push_acquire(d, e, b->first + i);
			else
				drop_acquire(d, e);
			heldlocks_take(&d->held, e);
		} else if (e->outer) {
			event_ref_blocks_take(&d->blocks, e, b->first + i);
		}
	}
}

/* Returns the acquire of one of the locks that the wish's thread holds. */
static const struct acquired *find_outer(const struct deadlock *d, const struct deadlock_wish *w,
					 uint32_t lock)
{
	const struct acquired *a = &d->outer[w->outer];

	while (a->at.operand != lock)
		a++;
	return a;
}

static int compare_strings(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !!a - !!b;
}

/*
 * Compare the cycle from step i on with the cycle from step k on, by what stays the same when the
 * program runs again.
 */
static int compare_from(const struct finding_step *s, size_t n, size_t i, size_t k)
{
	for (size_t m = 0; m < n; m++) {
		const struct finding_step *a = &s[(i + m) % n], *b = &s[(k + m) % n];
		int c = compare_strings(a->place, b->place);

		c = c ? c : compare_strings(a->label, b->label);
		c = c ? c : compare_strings(a->op, b->op);
		c = c || a->place ? c : compare_strings(a->operand, b->operand);
		if (c)
			return c;
	}
	return 0;
}

/* A cycle has no first step: choose one so that the fingerprint is the same in another run. */
static void rotate_steps(struct finding *f)
{
	struct finding_step *steps = arena_alloc(&f->arena, f->nsteps * sizeof *steps);
	size_t first = 0;

	for (size_t i = 2; i < f->nsteps; i += 2)
		if (compare_from(f->steps, f->nsteps, i, first) < 0)
			first = i;
	for (size_t i = 0; i < f->nsteps; i++)
		steps[i] = f->steps[(first + i) % f->nsteps];
	f->steps = steps;
}

static void emit_deadlock(void *engine, const struct deadlock_cycle *c)
{
	struct deadlock *d = engine;
	struct finding *f = finding_new();

	d->cycles++;
	f->status = FINDING_PREDICTED;
	f->kind = "deadlock";
	f->nsteps = 2 * (size_t)c->n;
	f->steps = arena_alloc(&f->arena, f->nsteps * sizeof *f->steps);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct deadlock_wish *w = &d->wish[c->wish[i]];
		const struct acquired *outer = find_outer(d, w, c->lock[i]);
		struct finding_step *step = &f->steps[2 * i];

		step[0] = event_ref_step(f, d->names, &outer->at);
		step[1] = event_ref_step(f, d->names, &w->at);
		describe_held(f, d->names, &step[0], heldlocks_view(&d->held, outer->set));
		describe_held(f, d->names, &step[1], heldlocks_view(&d->held, w->set));
		if (w->at.event > f->event)
			f->event = w->at.event;
	}
	rotate_steps(f);
	f->nlocks = c->n;
	f->locks = arena_alloc(&f->arena, c->n * sizeof *f->locks);
	for (uint32_t i = 0; i < c->n; i++)
		f->locks[i] = f->steps[2 * i].operand;
	finding_seal(f);
	d->sink->emit(d->sink, f);
}

static uint64_t deadlock_finish(void *engine)
{
	struct deadlock *d = engine;
	struct deadlock_wishes w = {&d->held, d->wish, (uint32_t)d->nwishes, d->clock};

	d->cut = !deadlock_find(&w, emit_deadlock, d);
	return 0;
}

static size_t deadlock_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct deadlock *d = engine;

	stats[0] = (struct engine_stat){"cycles", d->cycles};
	stats[1] = (struct engine_stat){"nested_acquires_kept", d->nwishes};
	stats[2] = (struct engine_stat){"nested_acquires_dropped", d->dropped};
	stats[3] = (struct engine_stat){"unnested_releases", d->unnested};
	stats[4] = (struct engine_stat){"search_cut_short", d->cut};
	return 5;
}

static void deadlock_destroy(void *engine)
{
	struct deadlock *d = engine;

	for (size_t i = 0; i < d->thread_cap; i++)
		mem_free(d->thread[i].held);
	for (size_t i = 0; i < d->nclocks; i++)
		mem_free(d->clock[i].at);
	mem_free(d->thread);
	mem_free(d->wish);
	mem_free(d->slot);
	mem_free(d->outer);
	mem_free(d->clock);
	phases_free(&d->phases);
	heldlocks_free(&d->held);
	event_ref_blocks_free(&d->blocks);
	mem_free(d);
}

const struct engine_ops engine_deadlock = {
	.name = "deadlock",
	.origin = "goodlock, SPIN 2000",
	.finding = "threads take these locks in orders that can deadlock in another run",
	.silence = "no order of locks seen in this run can deadlock",
	.noun = "possible deadlock",
	.second_pass = false,
	.create = deadlock_create,
	.take = deadlock_take,
	.finish = deadlock_finish,
	.stats = deadlock_stats,
	.destroy = deadlock_destroy,
};
