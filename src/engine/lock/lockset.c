/*
 * lockset: Eraser (Savage and others, SOSP 1997), with the order of thread phases
 * instead of guesses about ownership, and with a set of locks for writes and one for
 * each read (Stoller's multi-lockset). docs/engines/lockset.md defines what is found;
 * this file is about how.
 *
 * A variable keeps records of accesses. A record is dropped when another makes it
 * redundant: one of the same slot (see phase.h) and operation, at least as late, under
 * no more locks. If an access is concurrent with the old one and unguarded against it,
 * it is so with the new one too. Of the locks of a read only guards count; of a write
 * none count, since they are in the set of guards already. So usually there is one
 * record for each thread and operation.
 *
 * An access that is nothing new costs the variable's version, and an entry of a small
 * table by slot that says "did this already, in this phase, at this version, and only
 * these locks mattered". A version ends when the variable becomes shared, loses a
 * guard, or is freed. Let c and c' be equal accesses of the same version and phase. If
 * an access of another thread between them would make a finding with c', it made one
 * with c already, because it is concurrent with c: so c' can be skipped.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/event_ref.h"
#include "engine/heldlocks.h"
#include "engine/phase.h"
#include "engine/describe.h"

#include "base/banned.h"

enum state {
	VIRGIN,
	EXCLUSIVE, /* each access must come after all earlier ones */
	SHARED,    /* not so, but only read since then */
	MODIFIED,
	TOLD, /* it has a finding, and needs no other */
};

struct record {
	struct event_ref at;
	struct phase phase;
	heldset set;  /* the locks held that count */
	heldset full; /* all locks held */
	bool since_shared;
};

struct var {
	struct record *v; /* by slot */
	uint32_t n, cap;
	uint32_t version;
	heldset guards; /* in MODIFIED: the locks held exclusively at each write since it is shared
			 */
	uint8_t state;
	bool loose; /* some read since it is shared may be under none of the guards */
};

/* An access that a thread did already. Phases count from 1, so a zeroed entry never matches. */
struct seen {
	uint32_t var, version, index, op;
	heldset need; /* with these locks, or more, it is nothing new */
};
enum { SEEN = 1024 };

/* Records of one slot and operation, at most; then the oldest is merged with the new one. */
enum { RECORDS_MAX = 32 };

struct lockset {
	struct phases phases;
	struct heldlocks held;
	struct event_ref_blocks blocks;
	struct var *var;
	size_t var_cap;
	struct seen **seen; /* by slot: SEEN entries */
	size_t seen_cap;
	struct finding_sink *sink;
	uint64_t shared, merged;
};

static void *lockset_create(const void *options, struct finding_sink *sink)
{
	struct lockset *l = mem_zalloc(sizeof *l);

	(void)options;
	heldlocks_init(&l->held);
	l->sink = sink;
	return l;
}

static void drop_records(struct var *v)
{
	mem_free(v->v);
	v->v = NULL;
	v->n = v->cap = 0;
}

/* Returns the first record of this slot, or the position for it. */
static uint32_t first_record(const struct var *v, uint32_t slot)
{
	uint32_t low = 0, high = v->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (v->v[mid].phase.slot < slot)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Must an access come after all earlier ones? No, if an access earlier in the same
 * phase did not: what was concurrent with the thread then still is.
 */
static bool comes_after_all(const struct var *v, struct phase now, const struct phase_clock *clock)
{
	for (uint32_t i = first_record(v, now.slot); i < v->n && v->v[i].phase.slot == now.slot;
	     i++)
		if (v->v[i].phase.index == now.index && v->v[i].since_shared)
			return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (!phase_before(v->v[i].phase, clock))
			return false;
	return true;
}

static bool ops_conflict(enum op a, enum op b)
{
	/* Two atomic updates need no lock between them. */
	return (a != OP_READ || b != OP_READ) && (a != OP_UPDATE || b != OP_UPDATE);
}

/* Can the access make a finding with any other access? */
static bool can_be_unguarded(const struct lockset *l, const struct var *v, enum op op, heldset set)
{
	if (op == OP_READ)
		return v->state == MODIFIED && !heldlocks_exclude(&l->held, v->guards, set);
	return v->guards == HELD_NONE || v->loose;
}

/* Can it make a finding with this one, which is concurrent and conflicts? */
static bool can_be_found(const struct lockset *l, const struct var *v, enum op op,
			 const struct record *r)
{
	return op == OP_READ || v->guards == HELD_NONE ||
	       (r->at.op == OP_READ && r->since_shared &&
		!heldlocks_exclude(&l->held, v->guards, r->set));
}

/* Returns the other access of a finding, or NULL: if possible one without a common lock, then the
 * latest. */
static const struct record *find_other(const struct lockset *l, const struct var *v, enum op op,
				       heldset set, const struct phase_clock *clock)
{
	const struct record *best = NULL;
	bool best_apart = false;

	if (!can_be_unguarded(l, v, op, set))
		return NULL;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct record *r = &v->v[i];
		bool apart;

		if (phase_before(r->phase, clock) || !ops_conflict(op, r->at.op) ||
		    !can_be_found(l, v, op, r))
			continue;
		apart = !heldlocks_exclude(&l->held, r->full, set);
		if (best && (apart != best_apart ? best_apart : r->at.event < best->at.event))
			continue;
		best = r;
		best_apart = apart;
	}
	return best;
}

static void emit_race(struct lockset *l, const struct record *other, const struct record *new,
		      const struct names *names)
{
	struct finding *f = finding_new();

	f->status = FINDING_PREDICTED;
	f->kind = "lockset";
	f->event = new->at.event;
	f->nsteps = 2;
	f->steps = arena_alloc(&f->arena, 2 * sizeof *f->steps);
	f->steps[0] = event_ref_step(f, names, &other->at);
	f->steps[1] = event_ref_step(f, names, &new->at);
	describe_held(f, names, &f->steps[0], heldlocks_view(&l->held, other->full));
	describe_held(f, names, &f->steps[1], heldlocks_view(&l->held, new->full));
	describe_variable(f, names, new->at.operand);
	finding_seal(f);
	l->sink->emit(l->sink, f);
}

/* A write while the variable is shared: only locks held exclusively can still be guards. */
static void refine_guards(struct lockset *l, struct var *v, heldset set)
{
	heldset mine = heldlocks_exclusive(&l->held, set);
	heldset guards = v->state == MODIFIED ? heldlocks_common(&l->held, v->guards, mine) : mine;

	if (v->state == MODIFIED && guards == v->guards)
		return;
	v->state = MODIFIED;
	v->guards = guards;
	v->version++;
	for (uint32_t i = 0; i < v->n && !v->loose; i++)
		v->loose = v->v[i].at.op == OP_READ && v->v[i].since_shared &&
			   !heldlocks_exclude(&l->held, guards, v->v[i].set);
}

static void insert_record(struct var *v, uint32_t at, const struct record *new)
{
	if (v->n == v->cap) {
		v->cap = v->cap ? 2 * v->cap : 1;
		v->v = mem_resize(v->v, v->cap * sizeof *v->v);
	}
	memmove(&v->v[at + 1], &v->v[at], (v->n - at) * sizeof *v->v);
	v->v[at] = *new;
	v->n++;
}

static void add_record(struct lockset *l, struct var *v, struct record *new)
{
	uint32_t first = first_record(v, new->phase.slot), last = first, kept = first, same = 0;
	uint32_t oldest = first;

	for (; last < v->n && v->v[last].phase.slot == new->phase.slot; last++) {
		const struct record *old = &v->v[last];
		bool alike = old->at.op == new->at.op;

		if (alike && old->phase.index == new->phase.index &&
		    old->since_shared ==
			    new->since_shared &&heldlocks_include(&l->held, new->set, old->set)) {
			/* It makes the new one redundant and, if one was dropped, that one too. */
			new = NULL;
			break;
		}
		if (alike &&
		    (!old->since_shared || heldlocks_include(&l->held, old->set, new->set)))
			continue;
		if (alike && (!same++ || old->at.event < v->v[oldest].at.event))
			oldest = kept;
		v->v[kept++] = *old;
	}
	if (kept < last) {
		memmove(&v->v[kept], &v->v[last], (v->n - last) * sizeof *v->v);
		v->n -= last - kept;
	}
	if (!new)
		return;
	if (same == RECORDS_MAX) {
		new->set = heldlocks_common(&l->held, v->v[oldest].set, new->set);
		v->v[oldest] = *new;
		l->merged++;
	} else {
		insert_record(v, kept, new);
	}
}

/*
 * The access must come after all earlier ones: from now on the variable is this
 * thread's. That needs no new version: the phases of those accesses are over, and so
 * are the entries of the tables for them.
 */
static void make_exclusive(struct var *v, uint32_t thread)
{
	if (v->state == EXCLUSIVE && v->v[0].at.thread == thread)
		return;
	v->n = 0;
	v->state = EXCLUSIVE;
	v->loose = false;
}

/*
 * The access is concurrent with others. Returns the other access if that is a finding,
 * and sets the locks that count.
 */
static const struct record *take_shared(struct lockset *l, struct var *v, enum op op,
					struct record *new, const struct phase_clock *clock)
{
	new->since_shared = true;
	if (v->state == EXCLUSIVE) {
		v->state = SHARED;
		v->version++;
		l->shared++;
	}
	if (op != OP_READ)
		refine_guards(l, v, new->full);
	else if (v->state == MODIFIED)
		new->set = heldlocks_common(&l->held, v->guards, new->full);
	else
		new->set = new->full;
	v->loose |= op == OP_READ && v->state == MODIFIED && new->set == HELD_NONE;
	return find_other(l, v, op, new->full, clock);
}

/* Take an access that may be new. */
__attribute__((noinline)) static void take_new_access(struct lockset *l, const struct event *e,
						      uint64_t event, struct seen *seen,
						      const struct names *names)
{
	struct var *v = &l->var[e->operand];
	const struct phase_clock *clock = phases_clock(&l->phases, e->thread);
	struct record new = {.at = event_ref_of(&l->blocks, e, event),
			     .phase = phases_now(&l->phases, e->thread),
			     .full = heldlocks_of(&l->held, e->thread)};

	if (comes_after_all(v, new.phase, clock)) {
		make_exclusive(v, e->thread);
	} else {
		const struct record *other = take_shared(l, v, e->op, &new, clock);

		if (other) {
			emit_race(l, other, &new, names);
			drop_records(v);
			v->state = TOLD;
			return;
		}
	}
	*seen = (struct seen){e->operand, v->version, new.phase.index, e->op, new.set};
	if (e->op != OP_READ && new.since_shared)
		seen->need = v->guards;
	add_record(l, v, &new);
}

__attribute__((noinline)) static struct seen *new_slot(struct lockset *l, uint32_t slot)
{
	MEM_GROW0(l->seen, l->seen_cap, (size_t)slot + 1);
	if (!l->seen[slot])
		l->seen[slot] = mem_zalloc(SEEN * sizeof *l->seen[slot]);
	return l->seen[slot];
}

static inline void take_access(struct lockset *l, const struct event *e, uint64_t event,
			       const struct names *names)
{
	const struct var *v = &l->var[e->operand];
	struct phase now = phases_now(&l->phases, e->thread);
	heldset set = heldlocks_of(&l->held, e->thread);
	struct seen *seen;

	if (v->state == TOLD)
		return;
	seen = now.slot < l->seen_cap ? l->seen[now.slot] : NULL;
	if (__builtin_expect(!seen, 0))
		seen = new_slot(l, now.slot);
	seen += (e->operand * 4 + e->op) % SEEN;
	if (seen->var == e->operand && seen->version == v->version && seen->index == now.index &&
	    seen->op == e->op &&
	    (seen->need == set || heldlocks_include(&l->held, set, seen->need)))
		return;
	take_new_access(l, e, event, seen, names);
}

/* Memory begins a new life: earlier accesses do not count any more. */
static void begin_life(struct var *v)
{
	if (v->state == TOLD)
		return;
	drop_records(v);
	v->state = VIRGIN;
	v->loose = false;
	v->version++;
}

static void lockset_take(void *engine, const struct batch *b)
{
	struct lockset *l = engine;
	const struct table *names = b->names->table;

	MEM_GROW0(l->var, l->var_cap, names[NAMES_VAR].n);
	phases_room(&l->phases, names[NAMES_THREAD].n, names[NAMES_LOCK].n);
	heldlocks_room(&l->held, names[NAMES_THREAD].n);
	event_ref_blocks_room(&l->blocks, names[NAMES_THREAD].n);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct event *e = &b->ev[i];

		if (e->op == OP_NONE)
			continue;
		phases_take(&l->phases, e);
		if (op_is_access(e->op))
			take_access(l, e, b->first + i, b->names);
		else if (op_is_lock(e->op))
			heldlocks_take(&l->held, e);
		else if (e->outer)
			event_ref_blocks_take(&l->blocks, e, b->first + i);
		else if (e->op == OP_ALLOC || e->op == OP_FREE)
			begin_life(&l->var[e->operand]);
	}
}

/* All findings were emitted during the pass. */
static uint64_t lockset_finish(void *engine)
{
	(void)engine;
	return 0;
}

static size_t lockset_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct lockset *l = engine;

	stats[0] = (struct engine_stat){"became_shared", l->shared};
	stats[1] = (struct engine_stat){"lock_sets", l->held.nsets};
	stats[2] = (struct engine_stat){"merged_records", l->merged};
	return 3;
}

static void lockset_destroy(void *engine)
{
	struct lockset *l = engine;

	for (size_t i = 0; i < l->var_cap; i++)
		drop_records(&l->var[i]);
	for (size_t i = 0; i < l->seen_cap; i++)
		mem_free(l->seen[i]);
	mem_free(l->var);
	mem_free(l->seen);
	phases_free(&l->phases);
	heldlocks_free(&l->held);
	event_ref_blocks_free(&l->blocks);
	mem_free(l);
}

const struct engine_ops engine_lockset = {
	.name = "lockset",
	.origin = "Eraser, SOSP 1997",
	.finding = "no lock protects this variable consistently: another run may race on it",
	.silence = "each variable that threads share and write has been protected by its locks "
		   "since it became shared",
	.noun = "unprotected variable",
	.second_pass = false,
	.create = lockset_create,
	.take = lockset_take,
	.finish = lockset_finish,
	.stats = lockset_stats,
	.destroy = lockset_destroy,
};
