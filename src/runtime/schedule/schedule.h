/*
 * The controlled scheduler: it decides which thread of a driven program may run next.
 *
 * `atomsan explore`, `confirm` and `replay` drive a program: they give it a drive file
 * (trace/drive_format.h) with the option `drive`. From the creation of the first thread on, one
 * thread runs at a time. There is no scheduler thread: the thread with the turn calls
 * schedule_point() before each operation that matters, and hands the turn on if another thread was
 * chosen.
 *
 * Operations that block:
 *  - The program's own locks are kept. A thread tries; if the lock is busy, it calls
 *    schedule_block(), and tries again when another thread has called schedule_wake() with the same
 *    object.
 *  - What comes from outside (files, processes, signals) is tried again every millisecond while no
 *    thread can run: SCHEDULE_OUTSIDE.
 *  - Time is a choice: a thread that waits with a deadline can go on when no other can. Then the
 *    program's clock jumps.
 *  - Around other calls that may block, schedule_leave() and schedule_return(). If the command sees
 *    the thread with the turn asleep somewhere else, it is taken as such a call.
 *
 * The runtime stays out of it: between rt_enter() and rt_leave() nothing is a step. Signals are
 * delayed while a thread waits for the turn; when one comes, the thread asks for the turn, and its
 * handler runs with the turn.
 *
 * When the command releases the threads, or there are too many, all run freely from then on:
 * schedule_on is false, and each caller makes the real call.
 *
 * Included by: hooks/, intercept/, start.c.
 */
#ifndef ATOMSAN_RUNTIME_SCHEDULE_SCHEDULE_H
#define ATOMSAN_RUNTIME_SCHEDULE_SCHEDULE_H

#include <time.h>

#include "runtime/os/os.h"
#include "trace/drive_format.h"

/* Do threads take turns? Test this first: it costs one load. */
extern bool schedule_on;
/* Is there a drive file, and no thread yet? */
extern bool schedule_wanted;

/* Open the drive file that the option names. Called once, at start-up. */
void schedule_init(void);

/* --- steps --- */

/* The thread is about to do `op` at `pc`: a step. Other threads may run first. */
void schedule_point_slow(enum drive_op op, const void *object, uintptr_t pc);
static inline void schedule_point(enum drive_op op, const volatile void *object, uintptr_t pc)
{
	if (RT_UNLIKELY(schedule_on))
		schedule_point_slow(op, (const void *)(uintptr_t)object, pc);
}

/* A plain access: a step only at the places of the plan. Only in the mode RT_DRIVEN. */
void schedule_access(bool write, uintptr_t address, size_t size, uintptr_t pc);

/*
 * The thread has just done an atomic operation that found `value`, and has `changed` the memory or
 * not. If it has read the same values again and again, it blocks until one of them is changed.
 */
void schedule_atomic_done(const volatile void *object, uint64_t value, bool changed, uintptr_t pc);

/* Let other threads run, if any can. */
void schedule_yield(uintptr_t pc);

/* --- waiting --- */

enum schedule_flags {
	SCHEDULE_OUTSIDE = 1, /* what it waits for can also come from outside this process */
	SCHEDULE_CANCEL = 2,  /* a cancellation point */
	SCHEDULE_RETRY = 4,   /* the same wait goes on: with SCHEDULE_OUTSIDE this is no step */
};

enum schedule_woken {
	SCHEDULE_AGAIN,    /* another thread woke it, or it should try again */
	SCHEDULE_TIMEOUT,  /* the deadline has come */
	SCHEDULE_SIGNAL,   /* a signal handler has run */
	SCHEDULE_RELEASED, /* threads run freely: make the real call */
};

/*
 * The thread cannot go on: wait for schedule_wake(object), until the clock of the program shows
 * `deadline` (0: none). Returns with the turn, unless it returns SCHEDULE_RELEASED. If the thread
 * was cancelled, a wait with SCHEDULE_CANCEL returns SCHEDULE_AGAIN, and schedule_cancelled() is
 * true.
 */
enum schedule_woken schedule_block(enum drive_op op, const volatile void *object, uint64_t deadline,
				   int flags, uintptr_t pc);
/* Did schedule_wake() end the calling thread's last wait? */
bool schedule_was_woken(void);
/* All threads that wait for the object can go on. */
void schedule_wake(const volatile void *object);
/* One of them can: a choice. The caller has the turn. */
void schedule_wake_one(const volatile void *object, uintptr_t pc);
/* Number of threads that wait for the object. */
uint32_t schedule_waiting(const volatile void *object);
/* Was the calling thread cancelled while it waited? Then it calls pthread_testcancel(). */
bool schedule_cancelled(void);
/* The thread with this number in the registry was cancelled. */
void schedule_cancel(uint32_t id);

/* Around a call that may block in a way that is not known here. */
void schedule_leave(enum drive_op op, const volatile void *object, uintptr_t pc);
void schedule_return(void);

/*
 * A thread begins to initialise `control` (pthread_once() and its kin), after any other thread that
 * does so has ended that. If it is never ended, because the thread itself waits for it, the caller
 * makes the real call.
 */
void schedule_once_begin(const volatile void *control, uintptr_t pc);
void schedule_once_end(const volatile void *control);

/* --- time --- */

/* Was the program ever driven? Then its clocks differ from the system's. */
extern bool schedule_clocks;
/* The clock of the program, in ns; deadlines count by it. */
uint64_t schedule_now(void);
/* The value of a clock of the system in a driven program. Returns false if it is not driven. */
bool schedule_clock(clockid_t clock, struct timespec *now);
/* Returns the deadline for a moment of a clock of the system, or for a time from now. */
uint64_t schedule_deadline(clockid_t clock, const struct timespec *until);
uint64_t schedule_deadline_in(const struct timespec *length);

/* --- threads --- */

/* Start driving, if that is wanted: the first thread is about to be created. */
void schedule_begin_driving(void);
/*
 * The calling thread is about to create one, with number `id` in the registry: a step. Returns what
 * the new thread passes to schedule_thread_begin(); 0 if threads run freely.
 */
uint32_t schedule_create(uint32_t id, const void *start, uintptr_t pc);
void schedule_create_failed(uint32_t thread);
/* The new thread waits for its first turn. */
void schedule_thread_begin(uint32_t thread);
/* Has the thread with this number in the registry ended? True if it is not driven. */
bool schedule_has_ended(uint32_t id);
/* What schedule_block() waits for to join the thread with this number in the registry. */
const void *schedule_end_of(uint32_t id);
/* In a forked child, which runs freely. */
void schedule_child(void);

#endif
