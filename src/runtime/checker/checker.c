#include "runtime/checker/checker.h"

#include "runtime/blocks/block_policy.h"
#include "runtime/blocks/blocks.h"
#include "runtime/checker/lock_use.h"
#include "runtime/checker/outside.h"
#include "runtime/history/held_locks.h"
#include "runtime/history/history.h"
#include "runtime/history/origins.h"
#include "runtime/link/reporter_link.h"
#include "runtime/report/report.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

struct order checker_order;
uint32_t checker_order_lock;

_Static_assert(ORDER_INDEX_BITS == SHADOW_SLOT_SHIFT - SHADOW_TIME_SHIFT &&
		       sizeof(order_index) == sizeof(int64_t),
	       "a word of the shadow contains a step");

bool checker_init(bool for_replay)
{
	/* The order has four square tables (order.h). Try whether there is room for them. */
	size_t cells = (size_t)SHADOW_SLOTS * SHADOW_SLOTS;
	size_t bytes =
		cells * (2 * sizeof(order_index) + sizeof(uint32_t) + sizeof(struct order_why));
	void *room = rt_pages(bytes + (bytes >> 3));
	struct order *o = &checker_order;

	if (!room) {
		rt_note_incomplete("no address space to check the program in");
		rt_say("no address space to check the program in: it runs unchecked");
		return false;
	}
	rt_pages_free(room, bytes + (bytes >> 3));
	order_init(o, true);
	o->take_idle = UINT32_MAX;
	o->last_index = (order_index)SHADOW_TIMES - 1;
	order_reserve(o, SHADOW_SLOTS);
	o->fixed = true;
	/* Slot 0 belongs to no thread, so that no word is 0. */
	order_enter_slot(o);
	/* A slot is used again as early as possible, since each has its tables. But a replay needs
	 * the histories of threads that have just ended: for it, as late as possible. */
	o->early = !for_replay;
	history_for_replay = for_replay;
	if (rt_recording)
		shadow_set_serial(true);
	return true;
}

/* --- threads --- */

enum {
	REPEAT_BYTES = RT_REPEATS * sizeof(struct rt_repeat),
	READS_BYTES = RT_READS * (sizeof(struct rt_read) + sizeof(struct rt_read_old)),
	EMPTY_EVERY = 1 << 10
};

/*
 * Empty the tables of free slots once in EMPTY_EVERY threads. Such tables hold nothing of use. Each
 * short thread touches a few of their pages, and in time these would add up to whole tables. Under
 * the order's lock.
 */
static void empty_free_slots(void)
{
	static uint32_t begun;
	struct order *o = &checker_order;

	RT_ASSERT(checker_order_lock);
	if (history_for_replay || ++begun % EMPTY_EVERY)
		return;
	order_sweep(o);
	for (uint32_t i = 0; i < o->nfree; i++) {
		struct slot_public *p = &slot_public[o->free[i]];

		if (!p->used)
			continue;
		p->used = false;
		rt_pages_empty(p->repeat, REPEAT_BYTES);
		rt_pages_empty(p->reads, READS_BYTES);
		history_forget(o->free[i]);
	}
}

/* Give the thread a slot. False: there is none. */
static bool take_slot(struct rt_thread *t)
{
	uint32_t slot;

	rt_lock_ranked(&checker_order_lock, RT_ORDER);
	slot = order_enter_slot(&checker_order);
	t->slot = slot >= SHADOW_NOBODY ? 0 : slot;
	if (t->slot >= slot_count)
		__atomic_store_n(&slot_count, t->slot + 1, __ATOMIC_RELEASE);
	slot_public[t->slot].used = true;
	empty_free_slots();
	rt_unlock(&checker_order_lock);
	return t->slot;
}

/* Give the thread the tables of its slot, which stay with the slot. False: no memory. */
static bool take_tables(struct rt_thread *t)
{
	struct slot_public *p = &slot_public[t->slot];

	t->shadow.repeat = p->repeat;
	t->shadow.reads = p->reads;
	if (!p->reads) {
		t->shadow.repeat = rt_pages(REPEAT_BYTES);
		t->shadow.reads = rt_pages(READS_BYTES);
		__atomic_store_n(&p->repeat, t->shadow.repeat, __ATOMIC_RELEASE);
		__atomic_store_n(&p->reads, t->shadow.reads, __ATOMIC_RELEASE);
	}
	return t->shadow.repeat && t->shadow.reads;
}

/* There is no slot for the thread. Says so once: there may be many more such threads. */
static void say_too_many(uint32_t thread)
{
	static uint32_t said;

	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	rt_note_incomplete("there were more than %d threads at a time", SHADOW_NOBODY - 1);
	rt_say("more than %d threads at a time: thread %u is not checked, and no other thread "
	       "that begins meanwhile",
	       SHADOW_NOBODY - 1, thread);
}

bool checker_thread_begin(struct rt_thread *t, uint64_t birth_clock, bool tables, bool history)
{
	t->slot = 0;
	time_reset(t);
	t->shadow.closed = false;
	if (!rt_checking)
		return false;
	if (!take_slot(t)) {
		say_too_many(t->id);
		return false;
	}
	t->shadow.seen = checker_order.slot[t->slot].row[ROW_SEEN];
	t->shadow.others = &checker_order.slot[t->slot].others;
	time_begin(t, (uint64_t)step_index(checker_order.slot[t->slot].now));
	time_raise_clock(t, birth_clock);
	if ((tables && !take_tables(t)) || (history && !history_begin(t))) {
		rt_note_incomplete("no memory for the history of thread %u", t->id);
		rt_say("no memory for the history of thread %u: it is not checked", t->id);
		t->slot = 0;
		return false;
	}
	time_new_stretch(t);
	t->blocks.followed = true;
	return true;
}

struct rt_point checker_thread_end(struct rt_thread *t, uint64_t last)
{
	struct rt_point point = {last, t->time.clock};

	RT_ASSERT(rt_is_inside(t) && t->slot && !t->blocks.txn);
	lock_use_end(t, false);
	mode_rest(t);
	__atomic_fetch_add(&report_counts.transactions, t->blocks.transactions, __ATOMIC_RELAXED);
	rt_lock_ranked(&checker_order_lock, RT_ORDER);
	__atomic_store_n(&slot_public[t->slot].stretch, time_now(t) + 1, __ATOMIC_RELEASE);
	/* The next thread with this slot goes on counting here. */
	checker_order.slot[t->slot].now = shadow_step(t->time.now) + 1;
	order_leave_slot(&checker_order, t->slot);
	history_end(t);
	rt_unlock(&checker_order_lock);
	t->slot = 0;
	t->blocks.followed = false;
	time_reset(t);
	t->shadow.outside = false;
	held_free(t);
	outside_thread_end(t);
	return point;
}

static bool forking; /* checker_fork_prepare() has taken the locks */

void checker_fork_prepare(void)
{
	forking = rt_checking;
	if (!forking)
		return;
	rt_lock_ranked(&checker_order_lock, RT_ORDER);
	history_hold();
	shadow_hold();
}

void checker_fork_parent(void)
{
	if (!forking)
		return;
	shadow_let_go();
	history_let_go();
	rt_unlock(&checker_order_lock);
}

/*
 * In the child the other threads do not exist. Set the times of their slots, so that threads that
 * get these slots go on counting.
 */
static void end_other_threads(const struct rt_thread *t)
{
	enum { MARGIN = 16 }; /* a thread may have been about to raise its time */

	for (struct history *h = history_next(NULL); h; h = history_next(h)) {
		if (!h->owner || h->owner == t || !h->owner->slot)
			continue;
		checker_order.slot[h->slot].now = shadow_step(h->owner->time.now) + MARGIN;
		__atomic_store_n(&slot_public[h->slot].stretch, time_now(h->owner) + MARGIN,
				 __ATOMIC_RELEASE);
	}
}

bool checker_fork_child(struct rt_thread *t)
{
	struct order *o = &checker_order;

	if (!rt_checking)
		return false;
	checker_order_lock = 0;
	rt_rank_child();
	shadow_child();
	outside_child();
	/* The parent's recording does not go on in the child. */
	shadow_set_serial(rt_recording);
	end_other_threads(t);
	history_child(t);
	block_policy_child();
	link_child();
	report_child();
	/* The open transactions of the other threads have ended. */
	for (uint32_t slot = 1; slot < o->n && slot < SHADOW_NOBODY; slot++)
		if (slot != t->slot)
			order_leave_slot(o, slot);
	return true;
}

/* --- transactions --- */

bool checker_is_late(const struct rt_thread *t)
{
	if (RT_LIKELY(time_now(t) < SHADOW_TIMES / 2))
		return false;
	rt_note_incomplete("thread %u has done more than can be counted", t->id);
	rt_say("thread %u has done more than can be counted: it is no longer checked", t->id);
	return true;
}

void checker_begin(struct rt_thread *t)
{
	RT_ASSERT(rt_is_inside(t) && t->slot && t->blocks.txn);
	time_new_stretch(t);
	t->shadow.outside = false;
	t->blocks.txn_clock = t->time.clock;
	t->blocks.txn_begin = t->time.now;
}

void checker_call(struct rt_thread *t, struct rt_frame *f)
{
	f->begin = t->time.now;
	if (t->history)
		history_put_call(t, f);
}

void checker_ret(struct rt_thread *t, struct rt_frame *f)
{
	if (t->history)
		history_put_return(t, f);
}

void checker_mark(struct rt_thread *t, uint32_t label, uintptr_t pc)
{
	history_note(t, RAW_BEGIN, label, 0, pc);
}

void checker_unmark(struct rt_thread *t, uintptr_t pc)
{
	history_note(t, RAW_END, 0, 0, pc);
}

void checker_not_atomic(struct rt_thread *t, bool applies, uintptr_t pc)
{
	(void)applies;
	history_note(t, RAW_NOT_ATOMIC, 0, 0, pc);
}

/* --- synchronisation --- */

/* The edges come before the unit: they set its time and clock. */
static void acquire_lock(struct rt_thread *t, const struct checker_locks *locks, uintptr_t address,
			 uint32_t kind, bool shared, uint64_t *time, uintptr_t pc)
{
	if (!held_add(t, address, kind, shared, pc))
		return;
	outside_acquired(t, pc);
	locks->acquire(t, address, kind, shared, time);
	history_note(t, shared ? RAW_ACQUIRE_SHARED : RAW_ACQUIRE, address, kind, pc);
}

static void release_lock(struct rt_thread *t, const struct checker_locks *locks, uintptr_t address,
			 uint32_t kind, uint64_t *time, uintptr_t pc)
{
	struct rt_held *h = held_find(t, address);
	bool shared = h && h->shared;

	if (!h || h->times > 1) {
		if (h)
			held_drop(t, h);
		else
			t->locks.strange = true;
		return;
	}
	/* A chunk of the history that begins with this unit must still have the lock as held. */
	history_note(t, shared ? RAW_RELEASE_SHARED : RAW_RELEASE, address, kind, pc);
	locks->release(t, address, kind, shared, time);
	held_drop(t, h);
}

/*
 * A semaphore is used as a lock if a thread waits for it and then posts it. Any other post comes
 * after the post before it.
 */
static void use_semaphore(struct rt_thread *t, const struct checker_locks *locks, enum raw_op op,
			  uintptr_t address, uint64_t *time, uintptr_t pc)
{
	struct rt_held *h = held_find(t, address);

	if (op == RAW_SEM_WAIT)
		held_add(t, address, RAW_SEMAPHORE, false, pc);
	locks->semaphore(t, op, address, h, time, pc);
	if (op == RAW_SEM_POST && h)
		held_drop(t, h);
}

void checker_sync(struct rt_thread *t, const struct checker_locks *locks, enum raw_op op,
		  uintptr_t object, uint32_t aux, uint64_t *time, uintptr_t pc)
{
	RT_ASSERT(rt_is_inside(t));
	if (!t->slot || !rt_checking)
		return;
	if (t->history)
		history_reserve(t);
	time_synchronise(t);
	switch (op) {
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
		acquire_lock(t, locks, object, aux, op == RAW_ACQUIRE_SHARED, time, pc);
		break;
	case RAW_RELEASE:
		release_lock(t, locks, object, aux, time, pc);
		break;
	case RAW_SEM_WAIT:
	case RAW_SEM_POST:
		use_semaphore(t, locks, op, object, time, pc);
		break;
	case RAW_LOCK_NEW:
		locks->forget(object);
		break;
	case RAW_WAIT:
	case RAW_BARRIER:
		if (op == RAW_BARRIER)
			outside_barrier();
		blocks_cut(t);
		history_note(t, op, object, aux, pc);
		break;
	case RAW_NOTIFY:
		history_note(t, op, object, aux, pc);
		break;
	default:
		break;
	}
}

bool checker_create(struct rt_thread *t, uint32_t id, uintptr_t pc, struct rt_point *here)
{
	RT_ASSERT(rt_is_inside(t));
	*here = (struct rt_point){0};
	if (!t->slot || !rt_checking)
		return false;
	if (t->history)
		history_restart(t);
	blocks_cut(t);
	history_note(t, RAW_FORK, id, 0, pc);
	origins_created(t, id, pc);
	outside_created(t, id);
	here->clock = t->time.clock;
	return true;
}

void checker_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
		  uintptr_t pc, void (*edge)(struct rt_thread *t, uint64_t last))
{
	struct shadow_stripe *stripe = shadow_serial ? shadow_stripe(0) : NULL;

	RT_ASSERT(rt_is_inside(t));
	if (!t->slot || !rt_checking)
		return;
	outside_joined(t, id);
	blocks_cut(t);
	time_raise_clock(t, last.clock);
	if (stripe) {
		rt_lock_ranked(&stripe->lock, RT_STRIPE);
		*time = shadow_stamp(stripe);
	}
	edge(t, last.step);
	if (stripe)
		rt_unlock(&stripe->lock);
	history_note(t, RAW_JOIN, id, 0, pc);
}

/* --- memory --- */

/*
 * By hash of the address: the largest clock of a free, and the slot of its thread. An entry is
 * clock * SHADOW_SLOTS + slot; slot 0 means that several threads freed memory at that clock.
 */
enum { FREED = 1 << 12 };
static uint64_t freed[FREED];

static uint64_t *freed_entry(uintptr_t address)
{
	return &freed[(address >> 4) * 0x9e3779b97f4a7c15ull >> 52];
}

void checker_freed(struct rt_thread *t, uintptr_t address)
{
	uint64_t *last = freed_entry(address), old = __atomic_load_n(last, __ATOMIC_RELAXED);

	if (old / SHADOW_SLOTS < t->time.clock)
		__atomic_store_n(last, t->time.clock * SHADOW_SLOTS + t->slot, __ATOMIC_RELAXED);
	else if (old / SHADOW_SLOTS == t->time.clock && old % SHADOW_SLOTS != t->slot)
		__atomic_store_n(last, t->time.clock * SHADOW_SLOTS, __ATOMIC_RELAXED);
}

void checker_allocated(struct rt_thread *t, uintptr_t address)
{
	uint64_t last = __atomic_load_n(freed_entry(address), __ATOMIC_RELAXED);

	if (last % SHADOW_SLOTS != t->slot)
		time_raise_clock(t, last / SHADOW_SLOTS);
}
