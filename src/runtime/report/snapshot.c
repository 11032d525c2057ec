#include "runtime/report/snapshot.h"

#include <string.h>

#include "engine/precise/order.h"
#include "runtime/history/origins.h"
#include "runtime/report/conflict_set.h"
#include "runtime/report/facts.h"
#include "runtime/report/repeats.h"
#include "runtime/report/spans.h"
#include "runtime/shadow/time.h"

#include "base/banned.h"

/* --- the recording's chunks --- */

/* A chunk that is being written. */
struct chunk_writer {
	struct snapshot_part *o;
	size_t start; /* of the chunk in the part */
	uint64_t base, pc_high;
};

static struct chunk_writer chunk_open(struct snapshot_part *o, uint32_t thread, uint32_t number,
				      uint64_t base)
{
	struct chunk_writer w = {o, o->n, base, 0};
	struct raw_chunk *c = part_room(o, sizeof *c);

	if (c)
		*c = (struct raw_chunk){RAW_CHUNK_MAGIC, thread, number, 0, base, 0};
	return w;
}

/* Fill the chunk up to a page, where the next one begins. */
static void chunk_close(const struct chunk_writer *w)
{
	size_t pad = -w->o->n & (RAW_PAGE - 1);
	void *rest = part_room(w->o, pad);

	if (!rest)
		return;
	memset(rest, 0, pad); /* a chunk that was dropped may have left units here */
	((struct raw_chunk *)(w->o->p + w->start))->bytes = (uint32_t)(w->o->n - w->start);
}

static void put_raw_unit(struct chunk_writer *w, uint64_t what, uint64_t when)
{
	uint64_t *u = part_room(w->o, sizeof(struct raw_unit));

	if (u) {
		u[0] = what;
		u[1] = when;
	}
}

static void put_unit(struct chunk_writer *w, enum raw_op op, uint64_t address, uint32_t aux,
		     uint64_t clock, uintptr_t pc)
{
	if ((clock - w->base) >> 32) {
		w->base = clock;
		put_raw_unit(w, unit_what(RAW_TIME, 0, 0), clock);
	}
	if ((pc ^ w->pc_high) >> 32) {
		w->pc_high = pc & ~0xffffffffull;
		put_raw_unit(w, unit_what(RAW_PC_HIGH, pc >> 32, 0), 0);
	}
	put_raw_unit(w, unit_what(op, address, aux), (clock - w->base) | (uint64_t)pc << 32);
}

/* Put the repeats of a thread before a time, from `*next` on; if `cut`, leave them out. */
static void put_repeats(struct chunk_writer *w, const struct history *h, uint32_t *next,
			uint64_t time, uint64_t clock, uintptr_t function, bool cut)
{
	struct repeat *r;

	for (; (r = repeats_at(*next, h->slot)) && word_time(r->word) < time; ++*next) {
		uint64_t bytes = r->word & SHADOW_BYTES;
		uint32_t first = (uint32_t)__builtin_ctzll(bytes);

		if (r->done || cut)
			continue;
		r->done = true;
		put_unit(w, r->word & SHADOW_WRITE ? RAW_WRITE : RAW_READ, r->address + first,
			 (uint32_t)(64 - __builtin_clzll(bytes)) - first,
			 clock < r->before ? clock : r->before - 1, repeats_place(h, r, function));
	}
}

/* --- the units of a history --- */

/*
 * How far a history is copied: the units from before the cycle was closed, by their clock, and
 * those up to the thread's last step on the cycle, whatever their clock. The last unit of the
 * thread that closed the cycle is the operation that did so, and has a clock above all others.
 */
struct until {
	uint64_t clock;
	uint64_t time;          /* of the last step; 0: the thread has none */
	uint64_t closing_clock; /* of the operation that closed the cycle, in the copy */
	bool closes;            /* this thread closed the cycle */
	const uint64_t *stop; /* the end of that unit, if the thread may have gone on; else NULL */
};

/*
 * Does the recording need this unit? Accesses to memory without conflicts, or before the clock
 * `cut`, are left out, unless they are a step: no cycle can pass through them. All accesses to
 * other memory are needed, since they decide how an access is cut into parts.
 */
static bool unit_is_needed(const struct history *h, const struct history_walk *w,
			   const struct cycle *c, uint64_t cut)
{
	if (!history_is_access(w->op) || (w->clock >= cut && conflict_set_has(w->address, w->size)))
		return true;
	for (uint32_t i = 0; i < c->n; i++)
		if (step_slot(c->step[i]) == h->slot && (uint64_t)step_index(c->step[i]) == w->time)
			return true;
	return false;
}

/*
 * Calls and acquired locks that the copy may still lose: if nothing was put between a call and its
 * return, both are left out. The same is done with the acquire and release of a lock, but only
 * before the clock `cut`: later ones may be steps.
 */
enum { DEEP = 1 << 10 };
struct open_calls {
	uintptr_t function[DEEP];
	size_t after[DEEP]; /* where the part ended after the call was put; 0: it was not put here
			     */
	size_t depth;
	uint64_t lock;     /* the lock that was acquired last, */
	size_t after_lock; /* and where the part ended then */
	size_t start;      /* where the chunk's units begin */
};

/* Remove the last unit if the part still ends at `after`. */
static bool remove_last(struct snapshot_part *o, size_t after, size_t start)
{
	if (o->failed || after != o->n || after < start + sizeof(struct raw_unit))
		return false;
	o->n -= sizeof(struct raw_unit);
	return true;
}

/* Returns the function that the thread is in; 0: not known. */
static uintptr_t innermost(const struct open_calls *calls)
{
	return calls->depth ? calls->function[(calls->depth - 1) % DEEP] : 0;
}

/* Put a call, a return or an operation on a lock, or remove what it makes superfluous. */
static void put_open_or_close(struct chunk_writer *to, struct open_calls *calls,
			      const struct history_walk *w, uint64_t clock, bool cut)
{
	size_t *after = &calls->after[calls->depth % DEEP];

	if (w->op == RAW_RETURN && calls->depth && remove_last(to->o, *after, calls->start))
		return;
	if (w->op == RAW_RELEASE && cut && w->address == calls->lock &&
	    remove_last(to->o, calls->after_lock, calls->start))
		return;
	put_unit(to, w->op, w->address, w->aux, clock, w->pc);
	if (w->op == RAW_CALL && calls->depth > 1) {
		calls->after[(calls->depth - 1) % DEEP] = to->o->n;
	} else if (w->op == RAW_ACQUIRE) {
		calls->lock = w->address;
		calls->after_lock = to->o->n;
	}
}

static bool overwritten; /* a chunk was overwritten while it was copied; with the histories held */

/*
 * Copy the needed units of chunk `k` into chunk `number` of the thread. `*repeat` is the thread's
 * next repeat. False: the chunk was overwritten meanwhile, and nothing is copied.
 */
static bool copy_chunk(struct snapshot_part *o, const struct history *h, uint32_t k,
		       uint32_t number, uint32_t *repeat, const struct until *until,
		       struct reach reach, bool *copied_fork)
{
	static struct open_calls calls; /* with the histories held */
	uint64_t serial = __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE), clock;
	uint64_t highest = 0;
	size_t before = o->n;
	struct history_walk w;
	struct chunk_writer to;
	bool first = number == 0;
	/*
	 * A dead unit is on no cycle, and the words that would put it in order may be gone. It gets
	 * clock 0, before all others, which changes no cycle. (What the transaction reaches does
	 * not die while it is open.)
	 */
	uint64_t dead = span_dead(h);

	if (!history_walk(&w, h, k)) {
		overwritten = true;
		return false;
	}
	clock = h->chunk[k].base < dead ? 0 : w.clock;
	to = chunk_open(o, h->thread, number, clock);
	calls.depth = calls.after_lock = 0;
	calls.start = o->n;
	while (history_walk_next(&w) &&
	       (w.clock < until->clock || w.time <= until->time || until->closes)) {
		if (until->stop &&
		    (w.clock > until->clock || (w.clock == until->clock && w.u > until->stop)))
			break;
		put_repeats(&to, h, repeat, w.time, clock, innermost(&calls), clock < reach.cut);
		clock = w.time < dead ? 0 : w.clock;
		if (until->closes && !until->stop && k == h->at && w.u >= w.end)
			clock = until->closing_clock;
		highest = clock > highest ? clock : highest;
		if (w.op == RAW_CALL) {
			calls.after[calls.depth % DEEP] = 0;
			calls.function[calls.depth++ % DEEP] = w.address;
		} else if (w.op == RAW_RETURN && calls.depth) {
			calls.depth--;
		}
		/* Only the thread's first chunk in the recording needs its prologue. */
		if ((w.prologue && !first) || w.op == (enum raw_op)HISTORY_EDGE ||
		    !unit_is_needed(h, &w, reach.cycle, reach.cut))
			continue;
		if (w.op == RAW_CALL || w.op == RAW_RETURN || history_is_on_lock(w.op)) {
			put_open_or_close(&to, &calls, &w, clock, w.clock < reach.cut);
			continue;
		}
		put_unit(&to, w.op, w.address, w.aux, clock, w.pc);
		if (w.op == RAW_READ_RANGE || w.op == RAW_WRITE_RANGE || w.op == RAW_ALLOC ||
		    w.op == RAW_FORGET)
			put_raw_unit(&to, w.size, 0);
		if (w.op == RAW_FORK)
			copied_fork[w.address % ORIGINS_CREATIONS] = true;
	}
	if (k == h->at && !until->closes)
		put_repeats(&to, h, repeat, UINT64_MAX, clock, innermost(&calls), false);
	if (k != h->at && __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE) != serial) {
		o->n = before;
		overwritten = true;
		return false;
	}
	RT_ASSERT(highest < until->closing_clock + until->closes);
	chunk_close(&to);
	return true;
}

/* Copy the chunks of a span, and write the thread's facts. */
static void copy_history(struct snapshot *o, const struct history *h, struct span span,
			 const struct until *until, struct reach reach, bool *copied_fork)
{
	uint32_t number = 0, repeat = repeats_first(h->slot);
	bool left_start = false;

	EACH_CHUNK(k, h, span)
	{
		bool left = h->chunk[k].left_start;

		if (copy_chunk(&o->recording, h, k, number, &repeat, until, reach, copied_fork)) {
			left_start = number ? left_start : left;
			number++;
		}
	}
	facts_put_thread(&o->facts, h->thread, h, left_start);
}

static void put_header(struct snapshot_part *o)
{
	struct raw_header *h = part_room(o, RAW_PAGE);

	if (!h)
		return;
	memcpy(h->magic, RAW_MAGIC, sizeof h->magic);
	h->version = RAW_VERSION;
	h->closed = 1;
}

/* --- conflicts --- */

/*
 * Can this access be on a cycle of the transaction that closed `c`? It is not dead, and
 *  - the transaction reaches it, or
 *  - it came after something that the transaction did by a way that is not in the order; then its
 *    clock is not below the transaction's, or
 *  - it lies in a transaction that is still open; without locks the order might be another.
 */
static bool can_be_on_cycle(const struct history *h, const struct history_walk *w, uint64_t dead,
			    const struct cycle *c)
{
	return w->time >= dead &&
	       (h->slot >= c->nreach || w->time >= c->reach[h->slot] || w->clock >= c->clock);
}

/* Add the writes of a history, or its reads and locks, to the conflict set. */
static void add_conflicts(const struct history *h, struct span span, struct reach reach,
			  bool written)
{
	uint64_t dead = span_dead(h);
	struct history_walk w;

	EACH_CHUNK(k, h, span)
	{
		if (!history_walk(&w, h, k))
			continue;
		while (history_walk_next(&w))
			if (history_is_access(w.op) && repeats_op_writes(w.op) == written &&
			    w.clock >= reach.cut && can_be_on_cycle(h, &w, dead, reach.cycle))
				(written ? conflict_set_add_write
					 : conflict_set_add_read)(h->slot, w.address, w.size);
			else if (!written && history_is_on_lock(w.op))
				conflict_set_add_lock(w.address);
	}
}

/* Fill the conflict set: it wants all writes first. */
static void find_conflicts(struct reach reach)
{
	conflict_set_begin();
	for (int written = 1; written >= 0; written--) {
		for (struct history *h = NULL; (h = history_next(h)) != NULL;)
			if (span_is_needed(h, reach))
				add_conflicts(h, span_of(h, reach), reach, written);
		repeats_add_conflicts(written);
	}
}

/* --- the snapshot --- */

/* For a cycle that the calling thread has just closed. */
static struct until until_closed(const struct history *h, const struct cycle *c,
				 const struct live_step *steps)
{
	struct until u = {.clock = steps[c->n - 1].time, .closes = h->owner == &rt_self};

	for (uint32_t i = 0; i < c->n; i++) {
		if (step_slot(c->step[i]) == h->slot && (uint64_t)step_index(c->step[i]) > u.time)
			u.time = (uint64_t)step_index(c->step[i]);
		if (steps[i].time >= u.closing_clock)
			u.closing_clock = steps[i].time + 1;
	}
	return u;
}

/* For a cycle that a replay found. */
static struct until until_found(const struct history *h, const struct report_replayed *f)
{
	struct until u = {.clock = f->until, .closing_clock = f->until};

	if (h == f->history) {
		u.closes = true;
		u.stop = f->last;
	}
	return u;
}

bool snapshot_take(struct snapshot *o, bool whole, uint64_t from, const struct cycle *c,
		   const struct live_step *steps, const struct report_replayed *f)
{
	static bool copied_fork[ORIGINS_CREATIONS]; /* with the histories held */
	struct reach reach = reach_of(c, from, whole);
	bool far = true, first = false;
	size_t threads;

	memset(copied_fork, 0, sizeof copied_fork);
	overwritten = false;
	history_report_begin();
	put_header(&o->recording);
	repeats_begin();
	for (struct history *h = NULL; (h = history_next(h)) != NULL;)
		if (span_is_needed(h, reach)) {
			struct span span = span_of(h, reach);

			far &= span.far;
			repeats_collect(h, span);
		}
	repeats_sort();
	/* A replayed cycle has no steps of the order, so all accesses are copied. */
	if (!f)
		find_conflicts(reach);
	facts_choose_allocations(c, f ? NULL : steps);
	for (struct history *h = NULL; (h = history_next(h)) != NULL;)
		if (span_is_needed(h, reach))
			repeats_drop_units(h, span_of(h, reach));
	threads = facts_open(&o->facts, LIVE_SECTION_THREADS);
	for (struct history *h = NULL; (h = history_next(h)) != NULL;)
		if (span_is_needed(h, reach)) {
			struct until until = f ? until_found(h, f) : until_closed(h, c, steps);
			struct span span = span_of(h, reach);

			far &= span.far; /* the thread has gone on meanwhile */
			copy_history(o, h, span, &until, reach, copied_fork);
			first |= !h->thread;
		}
	if (!first)
		facts_put_thread(&o->facts, 0, NULL, false);
	facts_close(&o->facts, threads);
	facts_put_process(&o->facts, from, copied_fork);
	conflict_set_end();
	history_report_end();
	if (!o->recording.failed)
		((struct raw_header *)o->recording.p)->end = o->recording.n;
	return far && !overwritten;
}
