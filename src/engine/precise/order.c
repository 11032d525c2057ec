#include "engine/precise/order.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* Compare 16 bytes of indices at a time: every machine can do that. */
typedef order_index lanes __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));
enum { LANES = 16 / sizeof(order_index) };

static inline bool has_nonzero(lanes v)
{
	halves h = (halves)v;

	return (h[0] | h[1]) != 0;
}

static inline lanes load_lanes(const order_index *p)
{
	return *(const lanes *)p; /* rows are aligned, their length a multiple of ORDER_LANES */
}

/* Slots of idle threads are taken only if there are many; those of ended threads always. */
enum { FIRST_CAP = 8, TAKE_IDLE_FROM = 256 };
/* If nothing may move, this many ended threads keep their slots, plus half of all slots. */
enum { LATE = 32, REACHED = 8 };

static order_index *reach_row(const struct order *o, uint32_t s)
{
	return o->reach + (size_t)s * o->cap;
}

static bool is_open(const struct order *o, uint32_t t)
{
	return reach_row(o, t)[t] != ORDER_NEVER;
}

void order_init(struct order *o, bool keep_why)
{
	*o = (struct order){.last_index = ORDER_NEVER - 1, .take_idle = TAKE_IDLE_FROM};
	if (keep_why)
		o->why = mem_alloc(1);
}

void order_free(struct order *o)
{
	mem_free(o->reach);
	mem_free(o->seen);
	mem_free(o->self);
	mem_free(o->reached);
	mem_free(o->why);
	mem_free(o->slot);
	mem_free(o->free);
	mem_free(o->slot_of);
}

void order_threads(struct order *o, size_t n)
{
	if (n <= o->nthreads)
		return;
	o->slot_of = mem_resize(o->slot_of, n * sizeof *o->slot_of);
	for (size_t i = o->nthreads; i < n; i++)
		o->slot_of[i] = ORDER_NO_SLOT;
	o->nthreads = n;
}

static void set_rows(struct order *o, uint32_t t)
{
	o->slot[t].row[ROW_SEEN] = o->seen + (size_t)t * o->cap;
	o->slot[t].row[ROW_SELF] = o->self + o->cap - t;
}

static void nobody_reaches(order_index *row, uint32_t from, uint32_t to)
{
	for (uint32_t a = from; a < to; a++)
		row[a] = ORDER_NEVER;
}

/* Make the rows longer, and add rows. */
static void grow_rows(struct order *o, uint32_t cap)
{
	size_t cells = (size_t)cap * cap;
	order_index *reach = mem_zalloc_lines(cells * sizeof *reach);
	order_index *seen = mem_zalloc_lines(cells * sizeof *seen);
	uint32_t *reached = mem_zalloc_lines(cells * sizeof *reached);
	struct order_why *why = o->why ? mem_zalloc(cells * sizeof *why) : NULL;

	for (uint32_t s = 0; s < o->n; s++) {
		size_t from = (size_t)s * o->cap, to = (size_t)s * cap;

		memcpy(reach + to, o->reach + from, o->cap * sizeof *reach);
		nobody_reaches(reach + to, o->cap, cap);
		memcpy(seen + to, o->seen + from, o->cap * sizeof *seen);
		memcpy(reached + to, o->reached + from, o->cap * sizeof *reached);
		if (why)
			memcpy(why + to, o->why + from, o->cap * sizeof *why);
	}
	mem_free(o->reach);
	mem_free(o->seen);
	mem_free(o->reached);
	mem_free(o->why);
	mem_free(o->self);
	o->self = mem_zalloc_lines(2 * (size_t)cap * sizeof *o->self);
	o->self[cap] = ORDER_NEVER;
	o->reach = reach;
	o->seen = seen;
	o->reached = reached;
	o->why = why;
	o->slot = mem_resize(o->slot, cap * sizeof *o->slot);
	o->free = mem_resize(o->free, cap * sizeof *o->free);
	o->cap = cap;
	for (uint32_t t = 0; t < o->n; t++)
		set_rows(o, t);
}

void order_reserve(struct order *o, uint32_t slots)
{
	if (slots > o->cap)
		grow_rows(o, slots);
}

/* Does an open transaction reach this slot, or is one open in it? */
static bool slot_alive(const struct order *o, uint32_t s)
{
	const order_index *row = reach_row(o, s);

	for (uint32_t a = 0; a < o->n; a++)
		if (row[a] != ORDER_NEVER)
			return true;
	return false;
}

/* Free a slot, if it is not needed any more. */
static bool take_back(struct order *o, uint32_t s)
{
	struct order_slot *slot = &o->slot[s];

	/* A slot with few indices left is not worth reusing: it stays retired. */
	if (slot_alive(o, s) || step_index(slot->now) > o->last_index / 2)
		return false;
	o->nleft -= slot->left;
	if (slot->thread < ORDER_NAMELESS)
		o->slot_of[slot->thread] = ORDER_NO_SLOT;
	slot->thread = ORDER_NO_SLOT;
	slot->left = false;
	o->free[o->nfree++] = s;
	return true;
}

/* Go from the last slot down, so that the first ones are reused first. */
static uint32_t sweep_slots(struct order *o)
{
	uint32_t taken = 0;

	for (uint32_t s = o->n; s-- > 0;)
		if (o->slot[s].left ||
		    (o->slot[s].thread != ORDER_NO_SLOT && o->cap >= o->take_idle))
			taken += take_back(o, s);
	return taken;
}

/* Does each slot count as reached? Then slots are kept for a while. */
static bool all_count_as_reached(const struct order *o)
{
#ifdef ORDER_WIDE
	return o->nreaching_all;
#else
	(void)o;
	return false;
#endif
}

static bool sweep_is_due(const struct order *o)
{
	uint32_t keep = LATE + o->n / 2;

	if (o->early) /* when there are twice as many as the last sweep had to leave */
		keep = all_count_as_reached(o) ? REACHED + o->n / 2 : o->sweep_at;
	return o->nleft > keep || o->n == o->cap;
}

void order_sweep(struct order *o)
{
	if (!all_count_as_reached(o))
		sweep_slots(o);
}

static uint32_t new_slot(struct order *o, uint32_t thread)
{
	uint32_t t;

	if (!o->nfree && o->fixed && sweep_is_due(o)) {
		sweep_slots(o);
		o->sweep_at = 2 * o->nleft;
		if (!o->nfree && o->n == o->cap)
			return ORDER_NO_SLOT;
	} else if (!o->nfree && o->n == o->cap) {
		uint32_t taken = o->nleft || o->cap >= o->take_idle ? sweep_slots(o) : 0;

		if (taken <= o->cap / 4)
			grow_rows(o, o->cap ? o->cap * 2 : FIRST_CAP);
	}
	if (o->nfree) {
		/* Its index continues; what its former thread has seen is cleared. */
		t = o->free[--o->nfree];
		memset(o->seen + (size_t)t * o->cap, 0, o->n * sizeof *o->seen);
	} else {
		t = o->n++;
		nobody_reaches(reach_row(o, t), 0, o->cap);
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		o->slot[t].now = (step)t << ORDER_INDEX_BITS;
	}
	o->seen[(size_t)t * o->cap + t] = ORDER_NEVER;
	o->slot[t] = (struct order_slot){.now = o->slot[t].now + 1, .thread = thread};
#ifdef ORDER_WIDE
	o->slot[t].others = o->nreaching_all;
#endif
	set_rows(o, t);
	if (thread < ORDER_NAMELESS)
		o->slot_of[thread] = t;
	return t;
}

uint32_t order_enter(struct order *o, uint32_t thread)
{
	return new_slot(o, thread);
}

uint32_t order_enter_slot(struct order *o)
{
	return new_slot(o, ORDER_NAMELESS);
}

void order_leave(struct order *o, uint32_t thread)
{
	if (o->slot_of[thread] != ORDER_NO_SLOT)
		order_leave_slot(o, o->slot_of[thread]);
}

void order_leave_slot(struct order *o, uint32_t t)
{
	if (o->slot[t].thread == ORDER_NO_SLOT || o->slot[t].left)
		return;
	/* Even if it is not open: in a forked child it may be half ended (order_end_alone()). */
	order_end(o, t);
	o->slot[t].left = true;
	o->nleft++;
	if (o->early && !all_count_as_reached(o))
		take_back(o, t);
}

/*
 * The indices of a slot are used up: continue its thread in a new slot, after an edge
 * from the old one.
 */
static uint32_t renew_slot(struct order *o, uint32_t t)
{
	uint32_t thread = o->slot[t].thread, fresh = new_slot(o, thread);

	o->slot[t].thread = ORDER_NO_SLOT;
	o->slot[t].left = true;
	o->nleft++;
	order_add(o, fresh, o->slot[t].now, 0, 0);
	return fresh;
}

uint32_t order_begin(struct order *o, uint32_t t)
{
	if (step_index(o->slot[t].now) >= o->last_index)
		t = renew_slot(o, t);
	o->slot[t].now++;
	reach_row(o, t)[t] = step_index(o->slot[t].now);
	return t;
}

#ifdef ORDER_WIDE
static void set_reaches_all(struct order *o, uint32_t a, bool does)
{
	if (o->slot[a].reaches_all == does)
		return;
	o->slot[a].reaches_all = does;
	o->nreaching_all += does ? 1 : -1u;
	for (uint32_t s = 0; s < o->n; s++)
		o->slot[s].others += does ? 1 : -1u;
}
#endif

void order_end(struct order *o, uint32_t t)
{
	const uint32_t *list = o->reached + (size_t)t * o->cap;

	for (uint32_t k = 0; k < o->slot[t].reached; k++) {
		reach_row(o, list[k])[t] = ORDER_NEVER;
		o->slot[list[k]].others--;
	}
	reach_row(o, t)[t] = ORDER_NEVER;
	o->slot[t].reached = 0;
#ifdef ORDER_WIDE
	o->slot[t].touched = 0;
	set_reaches_all(o, t, false);
#endif
}

bool order_alive(const struct order *o, step src)
{
	const order_index *row = reach_row(o, step_slot(src));
	lanes any = {0};

	if (!o->slot[step_slot(src)].others)
		return row[step_slot(src)] <= step_index(src);
	for (uint32_t a = 0; a < o->n; a += LANES)
		any |= load_lanes(row + a) <= step_index(src);
	return has_nonzero(any);
}

/* Record that the open transaction of slot a reaches (u, index). */
static void lower_reach(struct order *o, uint32_t a, uint32_t u, order_index index,
			const struct order_why *why)
{
	order_index *cell = &reach_row(o, u)[a];

	if (*cell <= index)
		return;
	if (*cell == ORDER_NEVER) {
		o->reached[(size_t)a * o->cap + o->slot[a].reached++] = u;
		o->slot[u].others++;
	}
	*cell = index;
	if (o->why)
		o->why[(size_t)u * o->cap + a] = *why;
}

/* Record that the open transaction of slot a reaches t's current one, and all that this reaches. */
static void add_reach(struct order *o, uint32_t a, uint32_t t, const struct order_why *why)
{
	lower_reach(o, a, t, step_index(o->slot[t].now), why);
	if (!is_open(o, t))
		return;
	for (uint32_t k = 0; k < o->slot[t].reached; k++) {
		uint32_t u = o->reached[(size_t)t * o->cap + k];

		lower_reach(o, a, u, reach_row(o, u)[t],
			    o->why ? &o->why[(size_t)u * o->cap + t] : NULL);
	}
}

/*
 * Is the transaction of slot a still open, and the one that reached `src`? It may have ended, and
 * another may have begun. From now on its owner cannot end it without the lock.
 */
static bool claim_open(struct order *o, uint32_t a, step src)
{
#ifdef ORDER_WIDE
	order_index begin;

	__atomic_exchange_n(&o->slot[a].touched, 1, __ATOMIC_SEQ_CST);
	begin = __atomic_load_n(&reach_row(o, a)[a], __ATOMIC_SEQ_CST);
	return begin != ORDER_NEVER && (a != step_slot(src) || begin <= step_index(src));
#else
	(void)o;
	(void)a;
	(void)src;
	return true;
#endif
}

#define NEWLY_REACHED(a) ((load_lanes(row_s + (a)) <= i) & (load_lanes(row_t + (a)) == ORDER_NEVER))

/* An edge from `src` into slot t is left out: mark the transactions that would reach t by it. */
static void leave_out(struct order *o, uint32_t t, step src)
{
#ifdef ORDER_WIDE
	order_index i = step_index(src);
	const order_index *row_s = reach_row(o, step_slot(src));
	const order_index *row_t = reach_row(o, t);

	for (uint32_t first = 0; first < o->n; first += LANES) {
		lanes hit = NEWLY_REACHED(first);

		for (uint32_t k = 0; has_nonzero(hit) && k < LANES; k++)
			if (hit[k] && claim_open(o, first + k, src))
				set_reaches_all(o, first + k, true);
	}
#else
	(void)o;
	(void)t;
	(void)src;
#endif
}

enum order_edge order_add(struct order *o, uint32_t t, step src, uint64_t src_name,
			  uint64_t dst_name)
{
	struct order_why why = {src_name, dst_name, step_slot(src)};
	order_index i = step_index(src);
	const order_index *row_s = reach_row(o, step_slot(src));
	const order_index *row_t = reach_row(o, t);
	lanes any = {0};

	if (row_s[t] <= i) {
		leave_out(o, t, src);
		return ORDER_CYCLE;
	}
	o->seen[(size_t)t * o->cap + step_slot(src)] = i;
	/*
	 * The open transactions that reach src, but not t yet. (One that reaches t
	 * at all reaches its current transaction, the last of its chain.)
	 */
	for (uint32_t a = 0; a < o->n; a += LANES)
		any |= NEWLY_REACHED(a);
	if (!has_nonzero(any))
		return ORDER_ADDED;

	if (!is_open(o, t)) {
		if (step_index(o->slot[t].now) >= o->last_index) {
			t = renew_slot(o, t);
			/* The rows may have moved, and the new slot may know the edge. */
			return order_add(o, t, src, src_name, dst_name);
		}
		o->slot[t].now++;
	}
	for (uint32_t first = 0; first < o->n; first += LANES) {
		lanes hit = NEWLY_REACHED(first);

		for (uint32_t k = 0; has_nonzero(hit) && k < LANES; k++)
			if (hit[k] && claim_open(o, first + k, src))
				add_reach(o, first + k, t, &why);
	}
	return ORDER_ADDED;
}
