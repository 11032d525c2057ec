/*
 * Blocking operations of a driven program (schedule/schedule.h): the thread tries, and if it would
 * block, another thread gets the turn.
 *
 * Included by: intercept/.
 */
#ifndef ATOMSAN_RUNTIME_INTERCEPT_DRIVEN_H
#define ATOMSAN_RUNTIME_INTERCEPT_DRIVEN_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "runtime/schedule/schedule.h"

/* What all threads wait for that wait for files: after a write, each of them looks again. */
extern const char driven_files;
#define DRIVEN_FILES (&driven_files)

/* If the thread was cancelled while it waited, this ends it. */
static inline void driven_test_cancel(void)
{
	if (RT_UNLIKELY(schedule_cancelled()))
		pthread_testcancel();
}

/*
 * Do `try` until its result is not `busy`; in between, wait for the object. `real` is what to do if
 * threads were released meanwhile, `late` the result if the deadline has come, `interrupted` the
 * result if a signal handler has run (`busy`: try again).
 */
#define DRIVEN_TRY(op, object, flags, deadline, pc, try, busy, late, interrupted, real)            \
	({                                                                                         \
		enum schedule_woken woken_ = SCHEDULE_AGAIN;                                       \
		int again_ = 0;                                                                    \
		__typeof__(try) rc_;                                                               \
                                                                                                   \
		while ((rc_ = (try)) == (busy)) {                                                  \
			woken_ = schedule_block(op, object, deadline, (flags) | again_, pc);       \
			again_ = SCHEDULE_RETRY;                                                   \
			if (RT_UNLIKELY((flags)&SCHEDULE_CANCEL))                                  \
				driven_test_cancel();                                              \
			if (woken_ == SCHEDULE_AGAIN)                                              \
				continue;                                                          \
			rc_ = woken_ == SCHEDULE_TIMEOUT  ? (late)                                 \
			      : woken_ == SCHEDULE_SIGNAL ? (interrupted)                          \
							  : (real);                                \
			if (woken_ != SCHEDULE_SIGNAL || rc_ != (busy))                            \
				break;                                                             \
		}                                                                                  \
		rc_;                                                                               \
	})

/*
 * The C library's fields: can the mutex be released without a call of pthread_mutex_unlock() in
 * this process? By another process, or by the death of its owner.
 */
static inline int driven_mutex_flags(const pthread_mutex_t *m)
{
	enum { ROBUST = 16, SHARED = 128 };

	return m->__data.__kind & (ROBUST | SHARED) ? SCHEDULE_OUTSIDE : 0;
}

/* Does the C library refuse it, because the calling thread holds it already? */
bool driven_mutex_is_refused(const pthread_mutex_t *m);

static inline int driven_rwlock_flags(const pthread_rwlock_t *l)
{
	return l->__data.__shared ? SCHEDULE_OUTSIDE : 0;
}

static inline bool driven_condition_is_shared(const pthread_cond_t *c)
{
	return c->__data.__wrefs & 1;
}

static inline clockid_t driven_condition_clock(const pthread_cond_t *c)
{
	return c->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/* In the C library a semaphore is 8 bytes of value, then whether it is shared. */
static inline int driven_semaphore_flags(const sem_t *s)
{
	return ((const volatile int *)s)[2] ? SCHEDULE_OUTSIDE : 0;
}

/* Take a mutex; the point before it was a step. */
int driven_mutex_lock(pthread_mutex_t *m, uint64_t deadline, uintptr_t pc);
/* Wait for a condition. */
int driven_wait(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline, uintptr_t pc);
int driven_semaphore_wait(sem_t *s, uint64_t deadline, uintptr_t pc);
/*
 * Wait while the word has this value. Returns 0 or errno. Code that is not instrumented may change
 * the word or wake its waiters, so this is never part of a deadlock.
 */
int driven_futex_wait(const uint32_t *word, uint32_t value, uint64_t deadline, uintptr_t pc);
int driven_barrier_wait(pthread_barrier_t *b, uintptr_t pc);
/*
 * Wait until the thread with this number in the registry has ended. Returns 0, or ETIMEDOUT. If it
 * is not driven, returns at once.
 */
int driven_join(uint32_t id, uint64_t deadline, uintptr_t pc);

#endif
