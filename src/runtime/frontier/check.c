#include "runtime/frontier/check.h"

#include <string.h>

#include "engine/precise/order.h"
#include "runtime/blocks/block_policy.h"
#include "runtime/doublechecker/icd.h"
#include "runtime/shadow/owned_line.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/options.h"
#include "runtime/history/origins.h"
#include "runtime/report/report.h"

bool check_on;
uint32_t check_active;
struct check_line check_lines[SHADOW_SLOTS];
uint32_t check_slots;
uint8_t check_written[CHECK_WRITTEN];
struct check_counts check_counts;

static struct order order;
static uint32_t order_lock;
/* Of this thread, and still to be reported. */
static __thread struct check_cycle closed __attribute__((tls_model("initial-exec")));
/* The last step of each slot, as far as there is room, whose edge closed it; 0: there is none. */
enum { CLOSED_BY = 4 };
static __thread step closed_by[CLOSED_BY] __attribute__((tls_model("initial-exec")));

_Static_assert(ORDER_INDEX_BITS == SHADOW_SLOT_SHIFT - SHADOW_TIME_SHIFT &&
		       sizeof(order_index) == sizeof(int64_t),
	       "words of the shadow have steps in them");

void check_give_up(const char *why)
{
	if (!__atomic_exchange_n(&check_on, false, __ATOMIC_RELAXED))
		return;
	rt_choose_mode();
	rt_say("the check stopped: %s; the program goes on", why);
}

void check_init(void)
{
	/* A table of that size has four rows of it: see order.h. Where it does not fit, say so. */
	size_t cells = (size_t)SHADOW_SLOTS * SHADOW_SLOTS;
	size_t bytes =
		cells * (2 * sizeof(order_index) + sizeof(uint32_t) + sizeof(struct order_why));
	void *room;

	if (!rt_options.check || rt_options.predict)
		return;
	room = rt_pages(bytes + (bytes >> 3));
	if (!room) {
		rt_say("no address space to check the program in: it runs unchecked");
		return;
	}
	rt_pages_free(room, bytes + (bytes >> 3));
	order_init(&order, true);
	order.take_idle = UINT32_MAX;
	order.last_index = (order_index)SHADOW_TIMES - 1;
	order_reserve(&order, SHADOW_SLOTS);
	order.fixed = true;
	/* Slot 0 is nobody's, so that no word is 0. */
	order_enter_slot(&order);
	if (record_on)
		shadow_one_stripe();
	icd_init();
	/* Each slot that was ever in use has its tables. A replay wants the histories of late. */
	order.early = !icd_on;
	check_on = true;
}

/* Into the history, where there is one. */
static inline void note(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			uintptr_t pc)
{
	if (RT_LIKELY(t->history != NULL))
		history_put(t, op, address, aux, pc);
}

/* An operation on a lock, or a join: history_locks.c wants to know where there are some. */
static inline void note_lock(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			     uintptr_t pc)
{
	note(t, op, address, aux, pc);
	if (RT_LIKELY(t->history != NULL))
		t->history->chunk[t->history->at].locks = true;
}

/* For the replay of the imprecise check. */
static void note_marker(struct rt_thread *t, uint64_t marker)
{
	if (icd_on && t->history)
		history_put_edge(t, marker);
}

/* Steps before now are of no interest where nobody reaches them. */
static void bury(struct rt_thread *t)
{
	if (!__atomic_load_n(t->others, __ATOMIC_RELAXED)) {
		t->dead = t->now;
		__atomic_store_n(&check_lines[t->slot].dead_clock, t->clock, __ATOMIC_RELAXED);
		__atomic_store_n(&check_lines[t->slot].dead, check_time(t), __ATOMIC_RELEASE);
	}
}

static bool too_late(struct rt_thread *t)
{
	if (RT_LIKELY(check_time(t) < SHADOW_TIMES / 2))
		return false;
	rt_say("thread %u has done more than can be counted: it is no longer checked", t->id);
	check_thread_end(t);
	return true;
}

/* The mode is chosen in any case: somebody else may be about to choose one for nobody. */
static void activate(struct rt_thread *t)
{
	t->active = true;
	__atomic_fetch_add(&check_active, 1, __ATOMIC_SEQ_CST);
	rt_choose_mode();
}

/* It has no block open, and will not have one soon. */
static void rest(struct rt_thread *t)
{
	if (!t->active)
		return;
	t->active = false;
	if (!__atomic_sub_fetch(&check_active, 1, __ATOMIC_SEQ_CST))
		rt_choose_mode();
}

static void begin(struct rt_thread *t, size_t txn, uint32_t mark)
{
	uint64_t block = mark ? ICD_LABEL | t->mark[mark - 1].label : t->frame[txn - 1].function;
	bool skipped = icd_on && *rt_options.second_run && !functions_suspected(block);

	if (RT_UNLIKELY(too_late(t)))
		return;
	check_new_stretch(t);
	t->txn = txn;
	t->txn_mark = mark;
	t->outside = false;
	t->transactions++;
	t->txn_clock = t->clock;
	t->txn_begin = t->now;
	if (RT_UNLIKELY(!t->active && !skipped))
		activate(t);
	if (icd_on) {
		icd_begin(t, block, skipped);
		return;
	}
	order_begin_alone(&order, t->slot, (order_index)check_time(t));
	bury(t);
}

static void end_quietly(struct rt_thread *t)
{
	t->txn = 0;
	t->txn_mark = 0;
	if (icd_on) {
		check_new_stretch(t);
		icd_end(t);
		return;
	}
	if (RT_UNLIKELY(!order_end_alone(&order, t->slot))) {
		rt_lock_ranked(&order_lock, RT_ORDER);
		order_end(&order, t->slot);
		rt_unlock(&order_lock);
	}
	check_new_stretch(t);
	bury(t);
	t->outside = !check_matters(t);
}

static void end(struct rt_thread *t)
{
	end_quietly(t);
	if (RT_UNLIKELY(t->nreports))
		report_settled(t, false);
	icd_report(t, false);
}

static void note_closing(const struct rt_thread *t, uint64_t bytes)
{
	uint32_t n = closed.nclosing;

	if (!n || closed.closing[n - 1].address != t->at) {
		if (n == CHECK_CLOSING)
			return;
		closed.closing[n].address = t->at;
		closed.closing[n].bytes = 0;
		closed.nclosing = ++n;
	}
	closed.closing[n - 1].bytes |= t->at ? bytes : 0;
}

/* What the transaction of slot `home` reaches by now, and where others are in one. */
static void note_reach(uint32_t home)
{
	closed.nreach = order.n < CHECK_REACH ? order.n : CHECK_REACH;
	for (uint32_t s = 0; s < closed.nreach; s++) {
		const order_index *row = order.reach + (size_t)s * order.cap;
		order_index open = __atomic_load_n(&row[s], __ATOMIC_ACQUIRE);

		closed.reach[s] = (uint64_t)(row[home] < open ? row[home] : open);
	}
}

static step *closed_by_slot(uint32_t slot)
{
	uint32_t i = 0;

	while (i < CLOSED_BY && closed_by[i] && step_slot(closed_by[i]) != slot)
		i++;
	return i < CLOSED_BY ? &closed_by[i] : NULL;
}

/* The cycle that an edge from a word closes, backwards: order.h's `why` tells the way. */
static void note_cycle(struct rt_thread *t, uint64_t word)
{
	uint64_t src = shadow_step(word);
	uint32_t home = t->slot, s = step_slot(src);
	step *by = closed_by_slot(s);

	__atomic_fetch_add(&check_counts.cycles, 1, __ATOMIC_RELAXED);
	t->closed = true;
	if (by && *by < src)
		*by = src;
	note_closing(t, word & SHADOW_BYTES);
	if (closed.n)
		return; /* one access, one report */
	closed.slot = home;
	closed.begin = (uint64_t)step_index(order.slot[home].now);
	closed.clock = t->txn_clock;
	note_reach(home);
	closed.step[closed.n++] = shadow_step(t->now);
	closed.step[closed.n++] = src;
	while (s != home && closed.n + 2 <= CHECK_STEPS) {
		const struct order_why *why = &order.why[(size_t)s * order.cap + home];

		closed.step[closed.n++] = why->dst;
		closed.step[closed.n++] = why->src;
		s = why->from;
	}
}

/*
 * Of a large access, what there is to tell has been told. Here is one more edge that closes a
 * cycle, from a step that nobody reaches who did not reach one of the same slot that was left out
 * already: that is a later one, or none came to reach the slot in between.
 */
static bool closes_again(const struct rt_thread *t, step src)
{
	uint32_t s = step_slot(src);
	const step *by = closed_by_slot(s);

	return by && *by &&
	       (src <= *by || (uint64_t)step_index(*by) >=
				      __atomic_load_n(&check_lines[s].stretch, __ATOMIC_ACQUIRE)) &&
	       __atomic_load_n(&order.reach[(size_t)s * order.cap + t->slot], __ATOMIC_ACQUIRE) <=
		       step_index(src);
}

bool check_edge(struct rt_thread *t, uint64_t word, bool *fresh)
{
	step src = shadow_step(word);
	bool added;

	if (t->seen[step_slot(src)] >= step_index(src))
		return true;
	if (t->closed && closed.nclosing == CHECK_CLOSING && closes_again(t, src))
		return false;
	check_behind(t, word);
	/* With no block open anywhere, only the clocks are of interest. */
	if (!__atomic_load_n(&check_active, __ATOMIC_RELAXED))
		return true;
	if (!*fresh)
		check_new_stretch(t);
	*fresh = true;
	rt_lock_ranked(&order_lock, RT_ORDER);
	/* An operation outside blocks: where it brings somebody new it begins here. */
	if (!t->txn)
		order.slot[t->slot].now = shadow_step(t->now) - 1;
	added = order_add(&order, t->slot, src, src, shadow_step(t->now)) == ORDER_ADDED;
	if (!added)
		note_cycle(t, word);
	check_counts.edges++;
	rt_unlock(&order_lock);
	t->outside = false;
	history_put_edge(t, word);
	return added;
}

/*
 * The thread may be at it: an entry counts that was the same before and after, and it is what
 * the thread did before whatever orders the two, if anything does.
 */
uint64_t check_young(uint64_t word, uintptr_t address)
{
	const struct rt_repeat *table =
		__atomic_load_n(&check_lines[shadow_slot(word)].repeat, __ATOMIC_ACQUIRE);
	const struct rt_repeat *r = &table[address >> 3 & (RT_REPEATS - 1)];
	uint64_t young = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE);
	bool same = (__atomic_load_n(&r->address, __ATOMIC_ACQUIRE) & ~7ul) == (address & ~7ul);

	return same && __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) == young && young > word &&
			       !((young ^ word) & (SHADOW_WRITE | SHADOW_BYTES))
		       ? young
		       : word;
}

uint64_t check_kept(uint32_t slot, uint64_t readers, uintptr_t address)
{
	const struct rt_repeat *r = __atomic_load_n(&check_lines[slot].repeat, __ATOMIC_ACQUIRE);
	uint64_t word;

	if (!r)
		return 0;
	r += address >> 3 & (RT_REPEATS - 1);
	word = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&r->kept, __ATOMIC_ACQUIRE) != readers ||
	    (__atomic_load_n(&r->address, __ATOMIC_ACQUIRE) ^ address) & ~7ul ||
	    __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) != word)
		return 0;
	return word;
}

/* --- threads --- */

enum {
	REPEAT_BYTES = RT_REPEATS * sizeof(struct rt_repeat),
	READS_BYTES = RT_READS * (sizeof(struct rt_read) + sizeof(struct rt_read_old)),
	EMPTY_EVERY = 1 << 10
};

/*
 * What is in the tables of a slot that nobody has is nothing to anybody. Each so many threads they
 * are emptied: short threads touch a few pages each, here and there, and these would add up to the
 * whole of the tables.
 */
static void empty_free_slots(void)
{
	static uint32_t begun;

	if (icd_on || ++begun % EMPTY_EVERY)
		return;
	order_sweep(&order);
	for (uint32_t i = 0; i < order.nfree; i++) {
		uint32_t slot = order.free[i];

		if (!check_lines[slot].used)
			continue;
		check_lines[slot].used = false;
		rt_pages_empty(check_lines[slot].repeat, REPEAT_BYTES);
		rt_pages_empty(check_lines[slot].reads, READS_BYTES);
		history_forget(slot);
	}
}

static bool enter(struct rt_thread *t)
{
	uint32_t slot;

	rt_lock_ranked(&order_lock, RT_ORDER);
	slot = order_enter_slot(&order);
	t->slot = slot >= SHADOW_NOBODY ? 0 : slot;
	if (t->slot >= check_slots)
		__atomic_store_n(&check_slots, t->slot + 1, __ATOMIC_RELEASE);
	check_lines[t->slot].used = true;
	empty_free_slots();
	rt_unlock(&order_lock);
	return t->slot;
}

void check_thread_begin(struct rt_thread *t, struct check_point birth)
{
	bool fresh = false;

	t->slot = 0;
	t->txn = t->cut = 0;
	t->nmarks = 0;
	t->txn_mark = 0;
	t->limit = t->txn_limit = t->calm = 0;
	t->started = t->closed = false;
	if (!check_on)
		return;
	if (!enter(t)) {
		rt_say("more than %d threads at a time: thread %u is not checked",
		       SHADOW_NOBODY - 1, t->id);
		return;
	}
	t->self = (uint64_t)t->slot << SHADOW_SLOT_SHIFT;
	t->seen = order.slot[t->slot].row[ROW_SEEN];
	t->others = &order.slot[t->slot].others;
	t->clock = check_lines[t->slot].clock + 1;
	__atomic_store_n(&check_lines[t->slot].clock, t->clock, __ATOMIC_RELEASE);
	t->now = t->self | (uint64_t)(step_index(order.slot[t->slot].now) + 1) << SHADOW_TIME_SHIFT;
	check_clock(t, birth.clock);
	t->repeat = check_lines[t->slot].repeat;
	t->reads = check_lines[t->slot].reads;
	if (!t->reads && !icd_on) {
		t->repeat = rt_pages(REPEAT_BYTES);
		t->reads = rt_pages(READS_BYTES);
		__atomic_store_n(&check_lines[t->slot].repeat, t->repeat, __ATOMIC_RELEASE);
		__atomic_store_n(&check_lines[t->slot].reads, t->reads, __ATOMIC_RELEASE);
	}
	if (((!t->repeat || !t->reads) && !icd_on) ||
	    ((!icd_on || icd_logs) && !history_begin(t))) {
		rt_say("no memory for the history of thread %u: it is not checked", t->id);
		t->slot = 0;
		return;
	}
	check_new_stretch(t);
	if (icd_on) {
		icd_thread_begin(t, birth.step);
		if (t->history)
			history_put_sized(t, RAW_FORGET, t->stack_low, t->stack_high - t->stack_low,
					  t->hist.pc_high);
		note_marker(t, ICD_BORN);
		return;
	}
	bury(t);
	t->outside = true;
	if (birth.step)
		check_edge(t, birth.step << SHADOW_TIME_SHIFT, &fresh);
}

struct check_point check_thread_end(struct rt_thread *t)
{
	struct check_point last = {0};

	if (!t->slot)
		return last;
	if (t->txn)
		end(t);
	rest(t);
	last.step = shadow_step(t->now);
	last.clock = t->clock;
	if (icd_on) {
		note_marker(t, ICD_GONE);
		last.step = icd_thread_end(t);
		icd_report(t, false);
	}
	__atomic_fetch_add(&check_counts.transactions, t->transactions, __ATOMIC_RELAXED);
	rt_lock_ranked(&order_lock, RT_ORDER);
	__atomic_store_n(&check_lines[t->slot].stretch, check_time(t) + 1, __ATOMIC_RELEASE);
	/* Whoever gets the slot goes on counting here. */
	order.slot[t->slot].now = shadow_step(t->now) + 1;
	order_leave_slot(&order, t->slot);
	history_end(t);
	rt_unlock(&order_lock);
	t->slot = 0;
	t->limit = t->txn_limit = t->calm = 0;
	t->outside = false;
	rt_pages_free(t->held, t->held_cap * sizeof *t->held);
	t->held = NULL;
	t->nheld = t->held_cap = 0;
	return last;
}

/* Others hold one of these at a time, and wait for none. */
static bool forking;

void check_fork_prepare(void)
{
	forking = check_on;
	if (!forking)
		return;
	if (icd_on)
		icd_fork_prepare();
	rt_lock_ranked(&order_lock, RT_ORDER);
	history_hold();
	shadow_hold();
}

void check_fork_parent(void)
{
	if (!forking)
		return;
	shadow_let_go();
	history_let_go();
	rt_unlock(&order_lock);
	if (icd_on)
		icd_fork_parent();
}

/* In the child, those who are not there any more: whoever gets their slots goes on counting. */
static void leave_behind(const struct rt_thread *t)
{
	enum { MARGIN = 16 }; /* it may have been about to count */

	for (struct history *h = history_next(NULL); h; h = history_next(h)) {
		if (!h->owner || h->owner == t || !h->owner->slot)
			continue;
		order.slot[h->slot].now = shadow_step(h->owner->now) + MARGIN;
		__atomic_store_n(&check_lines[h->slot].stretch, check_time(h->owner) + MARGIN,
				 __ATOMIC_RELEASE);
	}
}

void check_fork_child(struct rt_thread *t)
{
	if (!check_on)
		return;
	check_active = t->active;
	order_lock = 0;
	rt_rank_child();
	shadow_child();
	leave_behind(t);
	history_child(t);
	functions_child();
	live_child();
	report_child();
	if (icd_on)
		icd_fork_child(t);
	/* Whoever else there was is not: what they had open has ended. */
	for (uint32_t slot = 1; slot < order.n && slot < SHADOW_NOBODY; slot++)
		if (slot != t->slot)
			order_leave_slot(&order, slot);
}

/* --- blocks --- */

void check_call_slow(struct rt_thread *t, struct rt_frame *f)
{
	if (RT_UNLIKELY(!t->slot))
		return;
	f->limit = t->limit;
	if (t->txn)
		check_inner(t);
	else if (functions_begin(t, f))
		begin(t, t->depth, 0);
	f->begin = t->now;
	note(t, RAW_CALL, f->function, f->kind, f->caller);
	f->unit = t->hist.next;
}

void check_return(struct rt_thread *t, struct rt_frame *f)
{
	size_t depth = t->depth + 1; /* it is taken off already */

	if (t->cut > t->depth)
		t->cut = t->depth;
	while (RT_UNLIKELY(t->nmarks && t->nmarks <= RT_MARKS &&
			   t->mark[t->nmarks - 1].depth >= depth)) {
		if (t->txn_mark == t->nmarks)
			end(t);
		t->nmarks--;
	}
	if (RT_UNLIKELY(!t->slot))
		return;
	/* A call in which nothing was noted need not have been, but for the first of all. */
	if (t->hist.next == f->unit && !f->starts && t->history)
		t->hist.next -= 2;
	else
		note(t, RAW_RETURN, 0, 0, t->hist.pc_high);
	if (t->txn == depth && !t->txn_mark)
		end(t);
	else
		t->limit = f->limit > t->calm ? f->limit : t->calm;
}

/* Every open block ends; the functions are seen to wait. */
static void cut(struct rt_thread *t)
{
	if (t->txn)
		end_quietly(t);
	for (size_t i = t->cut; i < t->depth; i++)
		if (!t->frame[i].hands_on)
			functions_leave_out(t, t->frame[i].function, false);
	t->cut = t->depth;
	rest(t);
	if (RT_UNLIKELY(t->nreports))
		report_settled(t, true);
	icd_report(t, true);
}

void check_mark(struct rt_thread *t, uint32_t label, const char *text, uintptr_t pc)
{
	if (!t->slot)
		return;
	if (t->nmarks < RT_MARKS)
		t->mark[t->nmarks] = (struct rt_mark){t->depth, label, pc};
	t->nmarks++;
	if (t->txn)
		check_inner(t);
	else if (t->nmarks <= RT_MARKS && functions_marked(label, text, pc))
		begin(t, t->depth + 1, t->nmarks);
	note(t, RAW_BEGIN, label, 0, pc);
}

void check_unmark(struct rt_thread *t, uintptr_t pc)
{
	if (!t->slot || !t->nmarks)
		return;
	/* As a recording's reader has it: one of another function stays. */
	if (t->nmarks <= RT_MARKS && t->mark[t->nmarks - 1].depth != t->depth)
		return;
	note(t, RAW_END, 0, 0, pc);
	if (t->txn_mark == t->nmarks)
		end(t);
	t->nmarks--;
}

void check_not_atomic(struct rt_thread *t, uintptr_t pc)
{
	if (!t->slot)
		return;
	note(t, RAW_NOT_ATOMIC, 0, 0, pc);
	if (!t->depth || t->depth <= t->cut ||
	    (t->nmarks && t->nmarks <= RT_MARKS && t->mark[t->nmarks - 1].depth == t->depth))
		return;
	functions_leave_out(t, t->frame[t->depth - 1].function, true);
	if (t->txn == t->depth && !t->txn_mark) {
		end_quietly(t);
		if (t->nreports)
			report_settled(t, true);
		icd_report(t, true);
	}
}

/* --- locks and threads --- */

static struct rt_held *held(struct rt_thread *t, uintptr_t address)
{
	for (size_t i = t->nheld; i-- > 0;)
		if (t->held[i].address == address)
			return &t->held[i];
	return NULL;
}

/* False: it is held already. */
static bool hold(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared)
{
	struct rt_held *h = held(t, address);

	if (h) {
		h->times++;
		return false;
	}
	if (t->nheld == t->held_cap) {
		size_t cap = t->held_cap ? 2 * t->held_cap : RAW_PAGE / sizeof *h;
		struct rt_held *grown = rt_pages(cap * sizeof *h);

		if (!grown)
			return true; /* a release of it will not be seen */
		for (size_t i = 0; i < t->nheld; i++)
			grown[i] = t->held[i];
		rt_pages_free(t->held, t->held_cap * sizeof *h);
		t->held = grown;
		t->held_cap = cap;
	}
	t->held[t->nheld++] = (struct rt_held){address, 1, (uint8_t)kind, shared};
	return true;
}

/*
 * Only its owner looks at its cell; a spin lock has half of one. With a recording it takes the
 * stripe's lock all the same, for the time.
 */
static bool for_one(uint32_t kind)
{
	return kind == RAW_MUTEX && !record_on;
}

/* Edges from whoever had it; an exclusive owner also comes after those who shared it. */
static void acquire(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared,
		    uint64_t *time)
{
	struct shadow_cell *cell;

	if (icd_on) {
		icd_lock_access(t, address, !shared, time);
		return;
	}
	cell = RT_UNLIKELY(record_on) ? shadow_make(SHADOW_LOCKS, address)
				      : shadow_find(SHADOW_LOCKS, address);
	if (!cell)
		return;
	if (for_one(kind))
		check_mutex_edges(t, cell);
	else
		check_lock(t, cell, address, CHECK_TAKES | (shared ? CHECK_SHARED : 0), time);
}

/* Also where it does not matter to anybody: the next owner's clock is above this one. */
static void release(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared,
		    uint64_t *time)
{
	struct shadow_cell *cell;

	if (icd_on) {
		icd_lock_access(t, address, !shared, time);
		return;
	}
	cell = shadow_make(SHADOW_LOCKS, address);
	if (!cell)
		return;
	if (for_one(kind) && !cell->w[1])
		__atomic_store_n(&cell->w[0], t->now | SHADOW_WRITE | 1, __ATOMIC_RELAXED);
	else
		check_lock(t, cell, address, CHECK_GIVES | (shared ? CHECK_SHARED : 0), time);
}

static void let_go(struct rt_thread *t, uintptr_t address, uint32_t kind, uint64_t *time,
		   uintptr_t pc)
{
	struct rt_held *h = held(t, address);

	if (!h || --h->times)
		return;
	note_lock(t, h->shared ? RAW_RELEASE_SHARED : RAW_RELEASE, address, kind, pc);
	release(t, address, kind, h->shared, time);
	*h = t->held[--t->nheld];
}

/* The edges come first: they set the time and the clock. */
static void take_lock(struct rt_thread *t, uintptr_t address, bool shared, uint32_t kind,
		      uint64_t *time, uintptr_t pc)
{
	if (!hold(t, address, kind, shared))
		return;
	acquire(t, address, kind, shared, time);
	note_lock(t, shared ? RAW_ACQUIRE_SHARED : RAW_ACQUIRE, address, kind, pc);
}

/*
 * Nobody knows yet whether a semaphore is used as a lock. Who waited for it and then posts it uses
 * it as one. Any other post comes after the one before it.
 */
static void semaphore(struct rt_thread *t, enum raw_op op, uintptr_t address, uint64_t *time,
		      uintptr_t pc)
{
	struct shadow_cell *cell = icd_on ? NULL : shadow_make(SHADOW_LOCKS, address);
	struct rt_held *h = held(t, address);
	bool waits = op == RAW_SEM_WAIT;

	if (icd_on) {
		if (waits)
			hold(t, address, RAW_SEMAPHORE, false);
		else if (!h)
			note_marker(t, ICD_NOT_HELD);
		icd_lock_access(t, address, true, time);
		note(t, op, address, RAW_SEMAPHORE, pc);
		if (!waits && h && !--h->times)
			*h = t->held[--t->nheld];
		return;
	}
	if (!cell)
		return;
	if (waits)
		hold(t, address, RAW_SEMAPHORE, false);
	check_lock(t, cell, address, (waits || !h ? CHECK_TAKES : 0) | (waits ? 0 : CHECK_GIVES),
		   time);
	note_lock(t, op, address, RAW_SEMAPHORE, pc);
	if (!waits && h && !--h->times)
		*h = t->held[--t->nheld];
}

void check_note(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux, uint64_t *time,
		uintptr_t pc)
{
	if (!t->slot || !check_on)
		return;
	if (t->history)
		history_reserve(t);
	check_synchronises(t);
	switch (op) {
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
		take_lock(t, object, op == RAW_ACQUIRE_SHARED, aux, time, pc);
		break;
	case RAW_RELEASE:
		let_go(t, object, aux, time, pc);
		break;
	case RAW_SEM_WAIT:
	case RAW_SEM_POST:
		semaphore(t, op, object, time, pc);
		break;
	case RAW_LOCK_NEW:
		if (icd_on)
			icd_clear_lock(object);
		else
			shadow_clear_locks(object, 1);
		break;
	case RAW_WAIT:
	case RAW_BARRIER:
		cut(t);
		note(t, op, object, aux, pc);
		break;
	case RAW_NOTIFY:
		note(t, op, object, aux, pc);
		break;
	default:
		break;
	}
	check_report(t);
}

struct check_point check_create(struct rt_thread *t, uint32_t id, uintptr_t pc)
{
	struct check_point here = {0};

	if (!t->slot || !check_on)
		return here;
	if (t->history)
		history_restart(t);
	cut(t);
	note(t, RAW_FORK, id, 0, pc);
	origins_created(t, id, pc);
	here.clock = t->clock;
	if (icd_on)
		here.step = icd_point(t);
	else if (check_matters(t))
		here.step = shadow_step(t->now);
	return here;
}

void check_join(struct rt_thread *t, uint32_t id, struct check_point last, uint64_t *time,
		uintptr_t pc)
{
	struct shadow_stripe *stripe = record_on ? shadow_stripe(0) : NULL;
	bool fresh = false;

	if (!t->slot || !check_on)
		return;
	cut(t);
	check_clock(t, last.clock);
	if (stripe)
		rt_lock_ranked(&stripe->lock, RT_STRIPE);
	if (stripe)
		*time = check_record_time(stripe);
	if (icd_on)
		icd_join(t, last.step);
	else if (last.step)
		check_edge(t, last.step << SHADOW_TIME_SHIFT, &fresh);
	if (stripe)
		rt_unlock(&stripe->lock);
	note_lock(t, RAW_JOIN, id, 0, pc);
	check_report(t);
}

/* --- memory --- */

/* The clocks of those who freed memory last, by address, and their slots; 0: there were several. */
enum { FREED = 1 << 12 };
static uint64_t freed[FREED];

static uint64_t *freed_at(uintptr_t address)
{
	return &freed[(address >> 4) * 0x9e3779b97f4a7c15ull >> 52];
}

void check_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	uint64_t *last = freed_at(address), old = __atomic_load_n(last, __ATOMIC_RELAXED);

	origins_freed(address);
	if (!rt_threads_out || !t->slot)
		return;
	note(t, RAW_FREE, address, 0, pc);
	if (old / SHADOW_SLOTS < t->clock)
		__atomic_store_n(last, t->clock * SHADOW_SLOTS + t->slot, __ATOMIC_RELAXED);
	else if (old / SHADOW_SLOTS == t->clock && old % SHADOW_SLOTS != t->slot)
		__atomic_store_n(last, t->clock * SHADOW_SLOTS, __ATOMIC_RELAXED);
	if (icd_on)
		icd_clear(address, size);
	else
		check_clear(address, size);
}

void check_clear(uintptr_t address, size_t size)
{
	if (icd_on) {
		icd_clear(address, size);
		if (rt_threads_out && rt_self.history)
			history_put_sized(&rt_self, RAW_FORGET, address, size,
					  rt_self.hist.pc_high);
		return;
	}
	line_clear(address, size);
	shadow_clear_locks(address, size);
}

void check_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	uint64_t last = __atomic_load_n(freed_at(address), __ATOMIC_RELAXED);

	if (!icd_on || icd_logs)
		origins_allocated(t, address, size, pc);
	if (!rt_threads_out || !t->slot)
		return;
	if (last % SHADOW_SLOTS != t->slot)
		check_clock(t, last / SHADOW_SLOTS);
	if (t->history)
		history_put_sized(t, RAW_ALLOC, address, size, pc);
	/* What was logged of this memory was of another. */
	if (icd_on)
		check_new_stretch(t);
}

void check_report_now(struct rt_thread *t)
{
	t->closed = false;
	/* The time may have gone up since: what closed it was noted last. */
	closed.step[0] = shadow_step(t->now);
	report_cycle(t, &closed);
	closed.n = closed.nclosing = 0;
	memset(closed_by, 0, sizeof closed_by);
}

uint64_t check_end(void)
{
	if (check_on && icd_on)
		icd_finish(&rt_self);
	return check_on ? report_end(order.n - 1) : 0;
}
