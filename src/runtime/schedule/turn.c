/*
 * The turn: which thread has it, how it is handed on, and what happens when no thread can run.
 *
 *	          step, another is chosen
 *	RUNNING ---------------------------> READY
 *	   |  <---------------------------     ^
 *	   |          gets the turn            | schedule_wake(), deadline, signal, again from
 *outside |                                   |
 *	   |-- schedule_block() ----------> BLOCKED
 *	   |-- schedule_leave(), asleep --> AWAY -- schedule_return(), next step --> READY
 *	   |-- a hold of the plan --------> HELD -- the other thread came --> READY
 *	   `-- the thread ends -----------> ENDED
 *
 * A thread that does not have the turn sleeps on its futex in the drive file. If no thread can run,
 * one of those that wait becomes the *keeper*: it tries what comes from outside, lets the clock
 * jump, or finds a deadlock.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/schedule/impl.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

enum {
	NAP_NS = 1000000,    /* between two tries of what comes from outside */
	PATIENCE = 20,       /* so many naps before the clock jumps past what comes from outside */
	DEADLOCK_NAPS = 100, /* so many before a deadlock is reported, if signals may come */
};

static struct sched_thread *keeper;
static uint32_t idle_naps;

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *limit)
{
	return syscall(SYS_futex, word, op, value, limit, NULL, 0);
}

static void ring(struct sched_thread *t)
{
	__atomic_store_n(&t->shared->go, 1, __ATOMIC_RELEASE);
	futex(&t->shared->go, FUTEX_WAKE, 1, NULL);
}

static void set_state(struct sched_thread *t, uint32_t state)
{
	t->state = state;
	t->shared->state = state;
}

/* All threads run freely from now on. */
static void release_all(enum drive_end why)
{
	struct drive_file *f = schedule_file;

	if (!schedule_on)
		return;
	if (f->end == DRIVE_DRIVEN)
		f->end = why;
	__atomic_store_n(&f->released, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&schedule_on, false, __ATOMIC_SEQ_CST);
	f->holder = 0;
	for (struct sched_thread *t = schedule_first; t; t = t->next)
		ring(t);
}

/* Give the turn to a thread, which may be the calling one. The lock is held. */
static void give_turn(struct sched_thread *t)
{
	struct drive_file *f = schedule_file;

	RT_ASSERT(t->state == DRIVE_READY || t->state == DRIVE_RUNNING);
	set_state(t, DRIVE_RUNNING);
	f->awake = t == schedule_self;
	f->inside = 0;
	__atomic_store_n(&f->holder, t->number + 1, __ATOMIC_RELEASE);
	if (t != schedule_self)
		ring(t);
	else
		t->shared->go = 1;
}

/* A thread is ready and no thread has the turn: choose one. */
static void fill_turn(void)
{
	struct sched_thread *next;

	if (schedule_file->holder)
		return;
	next = choose_next(NULL, false);
	if (!next)
		return;
	give_turn(next);
	if (keeper && keeper != next && keeper != schedule_self)
		ring(keeper); /* it need not keep watch any longer */
}

/* --- no thread can run --- */

/* Let each thread that waits for something from outside, or in a loop, try again. */
static void ready_those_outside(void)
{
	for (struct sched_thread *t = schedule_first; t; t = t->next)
		if (t->state == DRIVE_BLOCKED && t->flags & SCHEDULE_OUTSIDE) {
			t->woken = SCHEDULE_AGAIN;
			set_state(t, DRIVE_READY);
		}
}

/* The thread with the earliest deadline, or NULL. */
static struct sched_thread *find_deadline(void)
{
	struct sched_thread *first = NULL;

	for (struct sched_thread *t = schedule_first; t; t = t->next)
		if (t->state == DRIVE_BLOCKED && t->deadline &&
		    (!first || t->deadline < first->deadline))
			first = t;
	return first;
}

/* The thread's deadline has come. */
static void jump_to(struct sched_thread *t)
{
	clock_jump(t->deadline);
	t->woken = SCHEDULE_TIMEOUT;
	set_state(t, DRIVE_READY);
}

static bool any_thread_is(uint32_t state, int flags)
{
	for (const struct sched_thread *t = schedule_first; t; t = t->next)
		if (t->state == state && (t->flags & flags) == flags)
			return true;
	return false;
}

/* Can a signal handler still wake a thread? Only semaphores and spinning threads can be woken so.
 */
static bool waits_only_for_locks(void)
{
	for (const struct sched_thread *t = schedule_first; t; t = t->next)
		if (t->state == DRIVE_BLOCKED && t->op != DRIVE_LOCK &&
		    t->op != DRIVE_LOCK_SHARED && t->op != DRIVE_JOIN && t->op != DRIVE_WAIT &&
		    t->op != DRIVE_BARRIER && t->op != DRIVE_ONCE)
			return false;
	return true;
}

/* Write into the file where the thread is, and which locks it holds. */
static void describe_thread(const struct sched_thread *t)
{
	const struct thread_calls *calls = &t->rt->calls;
	const struct thread_locks *locks = &t->rt->locks;

	for (size_t i = 0; i < DRIVE_CALLS && i < calls->depth; i++)
		t->shared->call[i] = places_of(calls->frame[calls->depth - 1 - i].caller);
	for (size_t i = 0; i < DRIVE_HELD_LOCKS && i < locks->n; i++)
		t->shared->held[i] = locks->held[i].address;
}

/*
 * One round of the keeper, with the lock held: no thread has the turn. `napped`: it has slept since
 * the last round. Returns how long to sleep until the next round, in ns; 0: until it is woken.
 */
static long keep_watch(bool napped)
{
	struct drive_file *f = schedule_file;
	struct sched_thread *first = find_deadline();
	bool outside, away;

	if (any_thread_is(DRIVE_READY, 0)) {
		fill_turn();
		return 0;
	}
	outside = any_thread_is(DRIVE_BLOCKED, SCHEDULE_OUTSIDE);
	away = any_thread_is(DRIVE_AWAY, 0);
	idle_naps += napped;
	/* Give what is outside some real time before the clock jumps, and a spinning thread a
	 * little. */
	if ((outside || away || (first && first->spins > 1)) && !napped)
		return NAP_NS;
	if (outside && (!first || idle_naps % PATIENCE)) {
		ready_those_outside();
		fill_turn();
		return NAP_NS;
	}
	if (away && idle_naps < PATIENCE)
		return NAP_NS;
	if (first) {
		jump_to(first);
		fill_turn();
		return NAP_NS;
	}
	if (choose_force_hold()) {
		fill_turn();
		return NAP_NS;
	}
	if (outside || away || f->end != DRIVE_DRIVEN)
		return away || outside ? NAP_NS : 0;
	if (!waits_only_for_locks() && idle_naps < DEADLOCK_NAPS)
		return NAP_NS;
	for (const struct sched_thread *t = schedule_first; t; t = t->next)
		describe_thread(t);
	f->end = DRIVE_DEADLOCK;
	return 0;
}

/*
 * The command saw that the thread with the turn sleeps, or computes for long, without reaching a
 * step: from now on it is away.
 */
static void note_left(void)
{
	struct drive_file *f = schedule_file;
	struct sched_thread *t;
	uint32_t leave = __atomic_exchange_n(&f->leave, 0, __ATOMIC_ACQUIRE);

	if (!leave || leave != (uint32_t)f->steps + 1 || !f->holder)
		return;
	t = &schedule_threads[f->holder - 1];
	/* In the runtime it waits for the reporter, or for a lock of the runtime. */
	if (!t->rt || (t->rt->gate.quiet & RT_IN_RUNTIME))
		return;
	set_state(t, DRIVE_AWAY);
	f->left++;
	f->holder = 0;
	fill_turn();
}

/* --- waiting for the turn --- */

/* Sleep until the futex is set, or for so long. Returns true if the time has passed. */
static bool sleep_for_turn(struct sched_thread *t, long ns)
{
	struct timespec limit = {0, ns};
	int saved = errno;
	bool passed;

	passed = futex(&t->shared->go, FUTEX_WAIT, 0, ns ? &limit : NULL) && errno == ETIMEDOUT;
	errno = saved;
	return passed;
}

/* A signal came for a thread that waits: it asks for the turn, to run the handler. */
static void ask_for_turn(struct sched_thread *t)
{
	if (t->state != DRIVE_BLOCKED)
		return;
	t->woken = SCHEDULE_SIGNAL;
	set_state(t, DRIVE_READY);
	fill_turn();
}

/*
 * Wait for the turn. The lock is held, and is released. The thread is in the runtime meanwhile, so
 * signals are delayed.
 */
static void wait_for_turn(struct sched_thread *t)
{
	struct drive_file *f = schedule_file;
	bool napped = false;
	long nap = 0;

	for (;;) {
		if (!schedule_on || f->holder == t->number + 1)
			break;
		if (f->released) {
			release_all(DRIVE_RELEASED);
			break;
		}
		if (f->leave)
			note_left();
		if (t->rt->gate.pending)
			ask_for_turn(t);
		if (f->holder == t->number + 1)
			break;
		if (keeper == t && f->holder)
			keeper = NULL;
		if (!f->holder && !keeper)
			keeper = t;
		nap = 0;
		if (keeper == t) {
			nap = keep_watch(napped);
			if (f->holder == t->number + 1)
				break;
			if (f->holder)
				keeper = NULL, nap = 0;
		}
		t->shared->go = 0;
		rt_unlock(&schedule_lock);
		napped = sleep_for_turn(t, nap) && nap;
		rt_lock(&schedule_lock);
	}
	if (keeper == t)
		keeper = NULL;
	t->shared->go = 0;
	f->awake = 1;
	rt_unlock(&schedule_lock);
	if (!schedule_on)
		mode_set_driven(false);
}

/*
 * For debuggers: called, with the turn, by a thread at a switch of the schedule, before it hands
 * the turn to `other`. A breakpoint here shows the program between the parts of the schedule.
 */
RT_EXPORT void atomsan_schedule_switch(uint32_t other);
__attribute__((noinline)) void atomsan_schedule_switch(uint32_t other)
{
	__asm__ volatile("" : : "r"(other) : "memory");
}

/*
 * Choose who runs next; if it is not the calling thread, hand over and wait for the turn. The lock
 * is held, and is released.
 */
static void pass_turn(struct sched_thread *t, bool can_continue, bool step)
{
	struct sched_thread *next;
	uint64_t taken = schedule_file->taken;
	bool in_vain;

	schedule_file->holder = 0;
	if (t->state == DRIVE_HELD) {
		t->shared->state = DRIVE_HELD;
		can_continue = false;
	} else if (can_continue) {
		set_state(t, DRIVE_READY);
	}
	in_vain = can_continue && t->yields;
	next = choose_next(step ? t : NULL, can_continue);
	/* It yields again and again and no other thread can run: it may wait for the time. */
	t->yielded = in_vain && next == t ? t->yielded + 1 : 0;
	if (t->yielded >= SPIN_TIMES && find_deadline()) {
		t->yielded = 0;
		jump_to(find_deadline());
	}
	if (next && schedule_file->taken != taken)
		atomsan_schedule_switch(next->number);
	if (next)
		give_turn(next);
	wait_for_turn(t);
}

static void begin_step(struct sched_thread *t, enum drive_op op, const void *object, uintptr_t pc)
{
	choose_begin_step(t, op, object, pc);
	idle_naps = 0;
}

/* Enter the scheduler: take the lock. Returns what rt_leave_nested() needs. */
static bool enter_scheduler(void)
{
	bool inside = rt_enter_nested(&rt_self);

	rt_lock(&schedule_lock);
	return inside;
}

/* Does the calling thread take part now? */
static struct sched_thread *take_part(void)
{
	return schedule_on && schedule_self && !rt_is_inside(&rt_self) ? schedule_self : NULL;
}

/* A thread that is away comes back: it waits for the turn. The lock is held, and is again. */
static void come_back(struct sched_thread *t)
{
	while (schedule_on && schedule_file->holder != t->number + 1) {
		if (t->state != DRIVE_READY)
			set_state(t, DRIVE_READY);
		fill_turn();
		wait_for_turn(t);
		rt_lock(&schedule_lock);
	}
}

void schedule_point_slow(enum drive_op op, const void *object, uintptr_t pc)
{
	struct sched_thread *t = take_part();
	bool inside;

	if (!t)
		return;
	if (op != DRIVE_ATOMIC_READ && op != DRIVE_READ && op != DRIVE_YIELD)
		for (int i = 0; i < SPIN_WORDS; i++)
			t->spin[i].object = NULL;
	inside = enter_scheduler();
	come_back(t);
	if (schedule_on) {
		begin_step(t, op, object, pc);
		pass_turn(t, true, true);
	} else {
		rt_unlock(&schedule_lock);
	}
	rt_leave_nested(&rt_self, inside);
}

void schedule_yield(uintptr_t pc)
{
	if (schedule_self)
		schedule_self->yields = true;
	schedule_point(DRIVE_YIELD, NULL, pc);
}

enum schedule_woken schedule_block(enum drive_op op, const volatile void *object, uint64_t deadline,
				   int flags, uintptr_t pc)
{
	struct sched_thread *t = take_part();
	enum schedule_woken woken;
	bool inside, step;

	if (!t)
		return SCHEDULE_RELEASED;
	inside = enter_scheduler();
	come_back(t);
	if (!schedule_on) {
		rt_unlock(&schedule_lock);
		rt_leave_nested(&rt_self, inside);
		return SCHEDULE_RELEASED;
	}
	/* To try again what comes from outside is no step: how often depends on real time. */
	step = !(flags & SCHEDULE_OUTSIDE && flags & SCHEDULE_RETRY);
	if (step)
		begin_step(t, op, OBJECT_OF(object), pc);
	t->deadline = deadline;
	t->flags = flags;
	t->woken = SCHEDULE_AGAIN;
	t->called = false;
	set_state(t, DRIVE_BLOCKED);
	pass_turn(t, false, step);
	woken = schedule_on ? t->woken : SCHEDULE_RELEASED;
	t->deadline = 0;
	rt_leave_nested(&rt_self, inside);
	return woken;
}

void schedule_wake(const volatile void *object)
{
	bool inside, found = false;

	if (!schedule_on)
		return;
	inside = enter_scheduler();
	for (struct sched_thread *t = schedule_first; t; t = t->next) {
		if (t->state != DRIVE_BLOCKED || t->object != OBJECT_OF(object))
			continue;
		t->woken = SCHEDULE_AGAIN;
		t->called = true;
		set_state(t, DRIVE_READY);
		found = true;
	}
	if (found)
		fill_turn();
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

void schedule_wake_one(const volatile void *object, uintptr_t pc)
{
	struct sched_thread *t = take_part(), *woken;
	bool inside;

	(void)pc;
	if (!t)
		return;
	inside = enter_scheduler();
	come_back(t);
	woken = schedule_on ? choose_woken(t, OBJECT_OF(object)) : NULL;
	if (woken) {
		woken->woken = SCHEDULE_AGAIN;
		woken->called = true;
		woken->object = NULL;
		set_state(woken, DRIVE_READY);
		fill_turn();
	}
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

bool schedule_was_woken(void)
{
	return schedule_self && schedule_self->called;
}

uint32_t schedule_waiting(const volatile void *object)
{
	bool inside = enter_scheduler();
	uint32_t n = 0;

	for (const struct sched_thread *t = schedule_first; t; t = t->next)
		n += t->state == DRIVE_BLOCKED && t->object == OBJECT_OF(object);
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
	return n;
}

/* --- cancellation --- */

void schedule_cancel(uint32_t id)
{
	bool inside;

	if (!schedule_on)
		return;
	inside = enter_scheduler();
	for (struct sched_thread *t = schedule_first; t; t = t->next) {
		if (t->id != id)
			continue;
		t->cancelled = true;
		if (t->state == DRIVE_BLOCKED && t->flags & SCHEDULE_CANCEL) {
			t->woken = SCHEDULE_AGAIN;
			set_state(t, DRIVE_READY);
			fill_turn();
		}
	}
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

bool schedule_cancelled(void)
{
	return schedule_self && schedule_self->cancelled;
}

/* --- calls that may block --- */

void schedule_leave(enum drive_op op, const volatile void *object, uintptr_t pc)
{
	struct sched_thread *t = take_part(), *next;
	bool inside;

	if (!t)
		return;
	inside = enter_scheduler();
	come_back(t);
	if (schedule_on) {
		begin_step(t, op, OBJECT_OF(object), pc);
		set_state(t, DRIVE_AWAY);
		schedule_file->holder = 0;
		next = choose_next(t, false);
		if (next)
			give_turn(next);
		else if (schedule_first->next)
			for (next = schedule_first; next; next = next->next)
				if (next->state == DRIVE_BLOCKED) {
					ring(next); /* it becomes the keeper */
					break;
				}
	}
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

void schedule_return(void)
{
	struct sched_thread *t = take_part();
	bool inside;

	if (!t)
		return;
	inside = enter_scheduler();
	come_back(t);
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

/* --- threads --- */

void turn_end_thread(void)
{
	struct sched_thread *t = schedule_self, *next;
	bool inside;

	if (!t)
		return;
	schedule_self = NULL;
	if (!schedule_on)
		return;
	schedule_self = t;
	inside = enter_scheduler();
	come_back(t);
	if (schedule_on) {
		choose_begin_step(t, DRIVE_END, NULL, 0);
		set_state(t, DRIVE_ENDED);
		for (struct sched_thread *j = schedule_first; j; j = j->next)
			if (j->state == DRIVE_BLOCKED && j->object == t) {
				j->woken = SCHEDULE_AGAIN;
				set_state(j, DRIVE_READY);
			}
		threads_remove(t);
		if (keeper == t)
			keeper = NULL;
		schedule_file->holder = 0;
		next = choose_next(t, false);
		if (next)
			give_turn(next);
		else if (schedule_first)
			ring(schedule_first);
	}
	schedule_self = NULL;
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

void schedule_thread_begin(uint32_t thread)
{
	struct sched_thread *t;
	bool inside;

	if (!thread)
		return;
	inside = enter_scheduler();
	t = schedule_self = &schedule_threads[thread - 1];
	t->rt = &rt_self;
	t->shared->tid = (uint32_t)syscall(SYS_gettid);
	if (schedule_on)
		wait_for_turn(t);
	else
		rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

void turn_release(enum drive_end why)
{
	bool inside = enter_scheduler();

	release_all(why);
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
	mode_set_driven(false);
}
