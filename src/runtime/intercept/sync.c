/*
 * Locks, condition variables, semaphores, barriers, once; POSIX and C11.
 *
 * Not noted, though blocking.c lets them wait for their turn in a driven program:
 *  - file and record locks (flock, lockf, fcntl): they exclude processes, not threads
 *  - System V semaphores: programs do not use them between threads
 *  - the futex system call: locks that use it are built from atomic operations, which
 *    are seen; only std::future is known to wait by a futex alone (see below)
 *
 * If processes share a lock, only this process's operations on it are seen.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "runtime/checker/lock_use.h"
#include "runtime/intercept/driven.h"
#include "runtime/intercept/intercept.h"

#include "base/banned.h"

/* Is the lock held after this result? A mutex whose last owner died is. */
static inline bool is_acquired(int rc)
{
	return rc == 0 || rc == EOWNERDEAD;
}

/* A driven thread whose try has failed may try again and again: let others run. */
static inline int yield_if_busy(int rc, uintptr_t pc)
{
	if (rc == EBUSY || rc == thrd_busy)
		schedule_yield(pc);
	return rc;
}

/* The address of a lock, without volatile (spin locks are volatile). */
#define OBJECT(lock) ((const void *)(uintptr_t)(lock))
/*
 * A lock function: noted after it succeeded. `driven` is what a driven thread does instead: it must
 * not block (intercept/driven.h).
 */
#define ACQUIRE(op, kind, name, params, args, driven)                                              \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		int rc;                                                                            \
                                                                                                   \
		if (RT_UNLIKELY(schedule_on)) {                                                    \
			uintptr_t pc = RT_CALLER;                                                  \
                                                                                                   \
			schedule_point((op) == RAW_ACQUIRE ? DRIVE_LOCK : DRIVE_LOCK_SHARED, lock, \
				       pc);                                                        \
			rc = (driven);                                                             \
		} else {                                                                           \
			rc = REAL(name) args;                                                      \
		}                                                                                  \
		if (is_acquired(rc))                                                               \
			note_acquired(op, OBJECT(lock), kind, RT_CALLER);                          \
		return rc;                                                                         \
	}
/* An unlock function: its time is taken before it happens. */
#define RELEASE(op, kind, name, params)                                                            \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		uint64_t time = note_time_releasing(OBJECT(lock));                                 \
		int rc;                                                                            \
                                                                                                   \
		note_releasing(op, OBJECT(lock), kind, &time, RT_CALLER);                          \
		rc = REAL(name)(lock);                                                             \
		if (!rc)                                                                           \
			note_released(op, OBJECT(lock), kind, time, RT_CALLER);                    \
		if (RT_UNLIKELY(schedule_on))                                                      \
			schedule_wake(lock);                                                       \
		return rc;                                                                         \
	}
/* The same for mutexes, which remember their owners: an unlock by another thread is reported. */
#define RELEASE_MUTEX(name, params)                                                                \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		const pthread_mutex_t *m = (const void *)lock;                                     \
		uint64_t time = note_time_releasing(lock);                                         \
		int owner = m->__data.__owner, rc;                                                 \
                                                                                                   \
		note_releasing(RAW_RELEASE, lock, RAW_MUTEX, &time, RT_CALLER);                    \
		rc = REAL(name)(lock);                                                             \
		if (!rc)                                                                           \
			note_released(RAW_RELEASE, lock, RAW_MUTEX, time, RT_CALLER);              \
		if (RT_UNLIKELY(rt_self.locks.strange)) {                                          \
			rt_self.locks.strange = false;                                             \
			if (!rc)                                                                   \
				lock_use_strange(&rt_self, m, owner, RT_CALLER);                   \
		}                                                                                  \
		if (RT_UNLIKELY(schedule_on))                                                      \
			schedule_wake(lock);                                                       \
		return rc;                                                                         \
	}
/* A function after which the memory holds a new lock, or none. */
#define FRESH(name, params, args)                                                                  \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		int rc = REAL(name) args;                                                          \
                                                                                                   \
		if (!rc)                                                                           \
			note(RAW_LOCK_NEW, OBJECT(lock), 0, RT_CALLER);                            \
		return rc;                                                                         \
	}

FRESH(pthread_mutex_init, (pthread_mutex_t * lock, const pthread_mutexattr_t *attr), (lock, attr))
FRESH(pthread_mutex_destroy, (pthread_mutex_t * lock), (lock))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, pthread_mutex_lock, (pthread_mutex_t * lock), (lock),
	driven_mutex_lock(lock, 0, pc))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, pthread_mutex_trylock, (pthread_mutex_t * lock), (lock),
	yield_if_busy(REAL(pthread_mutex_trylock)(lock), pc))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, pthread_mutex_timedlock,
	(pthread_mutex_t * lock, const struct timespec *until), (lock, until),
	driven_mutex_lock(lock, schedule_deadline(CLOCK_REALTIME, until), pc))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, pthread_mutex_clocklock,
	(pthread_mutex_t * lock, clockid_t clock, const struct timespec *until),
	(lock, clock, until), driven_mutex_lock(lock, schedule_deadline(clock, until), pc))
RELEASE_MUTEX(pthread_mutex_unlock, (pthread_mutex_t * lock))

/* The tries of a driven thread for a read-write lock. */
#define DRIVEN_WRITE(deadline)                                                                     \
	DRIVEN_TRY(DRIVE_LOCK, lock, driven_rwlock_flags(lock), deadline, pc,                      \
		   REAL(pthread_rwlock_trywrlock)(lock), EBUSY, ETIMEDOUT, EBUSY,                  \
		   REAL(pthread_rwlock_wrlock)(lock))
#define DRIVEN_READ(deadline)                                                                      \
	DRIVEN_TRY(DRIVE_LOCK_SHARED, lock, driven_rwlock_flags(lock), deadline, pc,               \
		   REAL(pthread_rwlock_tryrdlock)(lock), EBUSY, ETIMEDOUT, EBUSY,                  \
		   REAL(pthread_rwlock_rdlock)(lock))
FRESH(pthread_rwlock_init, (pthread_rwlock_t * lock, const pthread_rwlockattr_t *attr),
      (lock, attr))
FRESH(pthread_rwlock_destroy, (pthread_rwlock_t * lock), (lock))
ACQUIRE(RAW_ACQUIRE, RAW_RWLOCK, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock),
	DRIVEN_WRITE(0))
ACQUIRE(RAW_ACQUIRE, RAW_RWLOCK, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), (lock),
	yield_if_busy(REAL(pthread_rwlock_trywrlock)(lock), pc))
ACQUIRE(RAW_ACQUIRE, RAW_RWLOCK, pthread_rwlock_timedwrlock,
	(pthread_rwlock_t * lock, const struct timespec *until), (lock, until),
	DRIVEN_WRITE(schedule_deadline(CLOCK_REALTIME, until)))
ACQUIRE(RAW_ACQUIRE, RAW_RWLOCK, pthread_rwlock_clockwrlock,
	(pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
	(lock, clock, until), DRIVEN_WRITE(schedule_deadline(clock, until)))
ACQUIRE(RAW_ACQUIRE_SHARED, RAW_RWLOCK, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock),
	DRIVEN_READ(0))
ACQUIRE(RAW_ACQUIRE_SHARED, RAW_RWLOCK, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock),
	yield_if_busy(REAL(pthread_rwlock_tryrdlock)(lock), pc))
ACQUIRE(RAW_ACQUIRE_SHARED, RAW_RWLOCK, pthread_rwlock_timedrdlock,
	(pthread_rwlock_t * lock, const struct timespec *until), (lock, until),
	DRIVEN_READ(schedule_deadline(CLOCK_REALTIME, until)))
ACQUIRE(RAW_ACQUIRE_SHARED, RAW_RWLOCK, pthread_rwlock_clockrdlock,
	(pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
	(lock, clock, until), DRIVEN_READ(schedule_deadline(clock, until)))
/* Releases a shared or an exclusive lock: the reader of the recording knows which is held. */
RELEASE(RAW_RELEASE, RAW_RWLOCK, pthread_rwlock_unlock, (pthread_rwlock_t * lock))

FRESH(pthread_spin_init, (pthread_spinlock_t * lock, int shared), (lock, shared))
FRESH(pthread_spin_destroy, (pthread_spinlock_t * lock), (lock))
ACQUIRE(RAW_ACQUIRE, RAW_SPINLOCK, pthread_spin_lock, (pthread_spinlock_t * lock), (lock),
	DRIVEN_TRY(DRIVE_LOCK, lock, 0, 0, pc, REAL(pthread_spin_trylock)(lock), EBUSY, EBUSY,
		   EBUSY, REAL(pthread_spin_lock)(lock)))
ACQUIRE(RAW_ACQUIRE, RAW_SPINLOCK, pthread_spin_trylock, (pthread_spinlock_t * lock), (lock),
	yield_if_busy(REAL(pthread_spin_trylock)(lock), pc))
RELEASE(RAW_RELEASE, RAW_SPINLOCK, pthread_spin_unlock, (pthread_spinlock_t * lock))

#define DRIVEN_C11(deadline)                                                                       \
	DRIVEN_TRY(DRIVE_LOCK, lock, 0, deadline, pc, REAL(mtx_trylock)(lock), thrd_busy,          \
		   thrd_timedout, thrd_busy, REAL(mtx_lock)(lock))
FRESH(mtx_init, (mtx_t * lock, int type), (lock, type))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, mtx_lock, (mtx_t * lock), (lock), DRIVEN_C11(0))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, mtx_trylock, (mtx_t * lock), (lock),
	yield_if_busy(REAL(mtx_trylock)(lock), pc))
ACQUIRE(RAW_ACQUIRE, RAW_MUTEX, mtx_timedlock,
	(mtx_t *restrict lock, const struct timespec *restrict until), (lock, until),
	DRIVEN_C11(schedule_deadline(CLOCK_REALTIME, until)))
RELEASE_MUTEX(mtx_unlock, (mtx_t * lock))

RT_INTERCEPT void mtx_destroy(mtx_t *lock)
{
	REAL(mtx_destroy)(lock);
	note(RAW_LOCK_NEW, lock, 0, RT_CALLER);
}

/*
 * Waiting for a condition: the mutex is released, and held again however the wait
 * ends, even if the thread is cancelled in it.
 */
struct waiting {
	const void *lock;
	uintptr_t pc;
};

static void note_wait_end(const struct waiting *w)
{
	note_acquired(RAW_ACQUIRE, w->lock, RAW_MUTEX, w->pc);
}

static inline void note_wait_begin(const void *condition, const void *lock, uintptr_t pc)
{
	note(RAW_WAIT, condition, RAW_CONDITION, pc);
	note_at(RAW_RELEASE, lock, RAW_MUTEX, note_time_releasing(lock), pc);
}

#define WAIT(version, name, params, args, driven)                                                  \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		__attribute__((cleanup(note_wait_end), unused)) struct waiting w = {               \
			lock, PROGRAM_CALLER};                                                     \
                                                                                                   \
		note_wait_begin(condition, lock, PROGRAM_CALLER);                                  \
		if (RT_UNLIKELY(schedule_on)) {                                                    \
			uintptr_t pc = PROGRAM_CALLER;                                             \
			int rc;                                                                    \
                                                                                                   \
			if (!driven_condition_is_shared(CONDITION))                                \
				return driven;                                                     \
			schedule_leave(DRIVE_WAIT, condition, pc);                                 \
			rc = REAL_VERSION(name, version) args;                                     \
			schedule_return();                                                         \
			return rc;                                                                 \
		}                                                                                  \
		return REAL_VERSION(name, version) args;                                           \
	}
/* Of driven threads none waits in the real condition; but others may: the real call comes first. */
#define NOTIFY(version, name, params, wake)                                                        \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		uintptr_t pc = PROGRAM_CALLER;                                                     \
		int rc;                                                                            \
                                                                                                   \
		schedule_point(DRIVE_NOTIFY, condition, pc);                                       \
		note(RAW_NOTIFY, condition, RAW_CONDITION, pc);                                    \
		rc = REAL_VERSION(name, version)(condition);                                       \
		if (RT_UNLIKELY(schedule_on))                                                      \
			wake;                                                                      \
		return rc;                                                                         \
	}

/* The C11 types are the POSIX ones inside the C library. */
#define CONDITION ((pthread_cond_t *)condition)
#define MUTEX     ((pthread_mutex_t *)lock)
static int driven_wait_c11(cnd_t *condition, mtx_t *lock, const struct timespec *until,
			   uintptr_t pc)
{
	int rc = driven_wait(CONDITION, MUTEX, until ? schedule_deadline(CLOCK_REALTIME, until) : 0,
			     pc);

	return rc == ETIMEDOUT ? thrd_timedout : rc ? thrd_error : thrd_success;
}

/* The C library also has older versions of these, with another layout of pthread_cond_t. */
#define COND_VERSION "GLIBC_2.3.2"
WAIT(COND_VERSION, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock),
     (condition, lock), driven_wait(condition, lock, 0, pc))
WAIT(COND_VERSION, pthread_cond_timedwait,
     (pthread_cond_t * condition, pthread_mutex_t *lock, const struct timespec *until),
     (condition, lock, until),
     driven_wait(condition, lock, schedule_deadline(driven_condition_clock(condition), until), pc))
WAIT(NULL, pthread_cond_clockwait,
     (pthread_cond_t * condition, pthread_mutex_t *lock, clockid_t clock,
      const struct timespec *until),
     (condition, lock, clock, until),
     driven_wait(condition, lock, schedule_deadline(clock, until), pc))
NOTIFY(COND_VERSION, pthread_cond_signal, (pthread_cond_t * condition),
       schedule_wake_one(condition, pc))
NOTIFY(COND_VERSION, pthread_cond_broadcast, (pthread_cond_t * condition), schedule_wake(condition))
/* Intercepted only so that the program gets the version that belongs to the others. */
RT_INTERCEPT int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attr)
{
	return REAL_VERSION(pthread_cond_init, COND_VERSION)(condition, attr);
}
RT_INTERCEPT int pthread_cond_destroy(pthread_cond_t *condition)
{
	return REAL_VERSION(pthread_cond_destroy, COND_VERSION)(condition);
}
WAIT(NULL, cnd_wait, (cnd_t * condition, mtx_t *lock), (condition, lock),
     driven_wait_c11(condition, lock, NULL, pc))
WAIT(NULL, cnd_timedwait,
     (cnd_t *restrict condition, mtx_t *restrict lock, const struct timespec *restrict until),
     (condition, lock, until), driven_wait_c11(condition, lock, until, pc))
NOTIFY(NULL, cnd_signal, (cnd_t * condition), schedule_wake_one(condition, pc))
NOTIFY(NULL, cnd_broadcast, (cnd_t * condition), schedule_wake(condition))

/*
 * std::future waits by these two functions of the C++ library, which differ in the
 * clock. They are implemented here: if the library is linked statically, there is no
 * original. Returns false if the time is over.
 */
static bool wait_for_word(uint32_t *word, uint32_t value, bool limited, long seconds,
			  long nanoseconds, int clock, uintptr_t pc)
{
	struct timespec until = {seconds, nanoseconds};
	int saved = errno;
	bool over;

	if (limited && seconds < 0)
		return false;
	note(RAW_WAIT, word, RAW_CONDITION, pc);
	if (RT_UNLIKELY(schedule_on)) {
		clockid_t id = clock ? CLOCK_REALTIME : CLOCK_MONOTONIC;

		return driven_futex_wait(word, value, limited ? schedule_deadline(id, &until) : 0,
					 pc) != ETIMEDOUT;
	}
	over = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | clock, value, limited ? &until : NULL,
		       NULL, FUTEX_BITSET_MATCH_ANY) &&
	       errno == ETIMEDOUT;
	errno = saved;
	return !over;
}

#define WAIT_FOR_WORD(clock, name)                                                                 \
	RT_INTERCEPT bool name(void *future, uint32_t *word, uint32_t value, bool limited,         \
			       long seconds, long nanoseconds);                                    \
	bool name(void *future, uint32_t *word, uint32_t value, bool limited, long seconds,        \
		  long nanoseconds)                                                                \
	{                                                                                          \
		(void)future;                                                                      \
		return wait_for_word(word, value, limited, seconds, nanoseconds, clock,            \
				     RT_CALLER);                                                   \
	}
/* clang-format off: mangled names are long */
WAIT_FOR_WORD(
	FUTEX_CLOCK_REALTIME,
	_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)
WAIT_FOR_WORD(
	0,
	_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)
/* clang-format on */

/* Semaphores: the reader of the recording finds out which are used as locks. */
static void note_new_semaphore(sem_t *s, unsigned int value, uintptr_t pc)
{
	note(RAW_LOCK_NEW, s, value < 255 ? value : 255, pc);
}

RT_INTERCEPT int sem_init(sem_t *s, int shared, unsigned int value)
{
	int rc = REAL(sem_init)(s, shared, value);

	if (!rc)
		note_new_semaphore(s, value, RT_CALLER);
	return rc;
}

RT_INTERCEPT int sem_destroy(sem_t *s)
{
	return REAL(sem_destroy)(s);
}

RT_INTERCEPT sem_t *sem_open(const char *name, int flags, ...)
{
	unsigned int mode = 0, value = 0;
	int now = 0;
	sem_t *s;
	va_list args;

	va_start(args, flags);
	if (flags & 0100 /* O_CREAT */) {
		mode = va_arg(args, unsigned int);
		value = va_arg(args, unsigned int);
	}
	va_end(args);
	s = REAL(sem_open)(name, flags, mode, value);
	if (s != SEM_FAILED && !sem_getvalue(s, &now) && now > 1)
		note_new_semaphore(s, (unsigned int)now, RT_CALLER);
	return s;
}

RT_INTERCEPT int sem_wait(sem_t *s)
{
	int rc = RT_UNLIKELY(schedule_on) ? driven_semaphore_wait(s, 0, RT_CALLER)
					  : REAL(sem_wait)(s);

	if (!rc)
		note_acquired(RAW_SEM_WAIT, s, RAW_SEMAPHORE, RT_CALLER);
	return rc;
}

RT_INTERCEPT int sem_trywait(sem_t *s)
{
	int rc;

	schedule_point(DRIVE_SEM_WAIT, s, RT_CALLER);
	rc = REAL(sem_trywait)(s);
	if (!rc)
		note_acquired(RAW_SEM_WAIT, s, RAW_SEMAPHORE, RT_CALLER);
	else if (RT_UNLIKELY(schedule_on))
		schedule_yield(RT_CALLER);
	return rc;
}

RT_INTERCEPT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	int rc = RT_UNLIKELY(schedule_on)
			 ? driven_semaphore_wait(s, schedule_deadline(CLOCK_REALTIME, until),
						 RT_CALLER)
			 : REAL(sem_timedwait)(s, until);

	if (!rc)
		note_acquired(RAW_SEM_WAIT, s, RAW_SEMAPHORE, RT_CALLER);
	return rc;
}

RT_INTERCEPT int sem_clockwait(sem_t *restrict s, clockid_t clock,
			       const struct timespec *restrict until)
{
	int rc = RT_UNLIKELY(schedule_on)
			 ? driven_semaphore_wait(s, schedule_deadline(clock, until), RT_CALLER)
			 : REAL(sem_clockwait)(s, clock, until);

	if (!rc)
		note_acquired(RAW_SEM_WAIT, s, RAW_SEMAPHORE, RT_CALLER);
	return rc;
}

RT_INTERCEPT int sem_post(sem_t *s)
{
	uint64_t time = note_time_releasing(s);
	int rc;

	note_releasing(RAW_SEM_POST, s, RAW_SEMAPHORE, &time, RT_CALLER);
	rc = REAL(sem_post)(s);
	if (!rc)
		note_released(RAW_SEM_POST, s, RAW_SEMAPHORE, time, RT_CALLER);
	if (RT_UNLIKELY(schedule_on))
		schedule_wake(s);
	return rc;
}

/* Noted when the thread arrives. */
RT_INTERCEPT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	note(RAW_BARRIER, barrier, RAW_BARRIER_OBJECT, RT_CALLER);
	if (RT_UNLIKELY(schedule_on))
		return driven_barrier_wait(barrier, RT_CALLER);
	return REAL(pthread_barrier_wait)(barrier);
}

/*
 * Once: the thread that runs the function writes to the control, and every other thread
 * reads it. It is not a lock: later calls do not exclude each other.
 */
static __thread struct once_call {
	void (*fn)(void);
	void *control;
	uintptr_t pc;
	bool ran;
	struct once_call *outer;
} * once_call __attribute__((tls_model("initial-exec")));

static void run_once(void)
{
	struct once_call *c = once_call;

	c->fn();
	c->ran = true;
	/* Noted before the waiting threads continue. */
	access_plain(RAW_WRITE, c->control, sizeof(int), c->pc);
}

static void end_once(struct once_call *c)
{
	once_call = c->outer;
	if (RT_UNLIKELY(schedule_on))
		schedule_once_end(c->control);
	if (!c->ran)
		access_plain(RAW_READ, c->control, sizeof(int), c->pc);
}

RT_INTERCEPT int pthread_once(pthread_once_t *control, void (*fn)(void))
{
	__attribute__((cleanup(end_once))) struct once_call c = {fn, control, RT_CALLER, false,
								 once_call};

	if (RT_UNLIKELY(schedule_on))
		schedule_once_begin(control, RT_CALLER);
	once_call = &c;
	return REAL(pthread_once)(control, run_once);
}

RT_INTERCEPT void call_once(once_flag *control, void (*fn)(void))
{
	__attribute__((cleanup(end_once))) struct once_call c = {fn, control, RT_CALLER, false,
								 once_call};

	if (RT_UNLIKELY(schedule_on))
		schedule_once_begin(control, RT_CALLER);
	once_call = &c;
	REAL(call_once)(control, run_once);
}

/*
 * C++: the initialisation of a static variable in a function. The noted access is not of
 * the guard's first byte: compiled code reads that byte before it calls this function, and
 * again afterwards. The write for which the thread waits here in between must not count as
 * an interruption.
 */
int __cxa_guard_acquire(uint64_t *guard);
void __cxa_guard_release(uint64_t *guard);

RT_INTERCEPT int __cxa_guard_acquire(uint64_t *guard)
{
	int rc;

	if (RT_UNLIKELY(schedule_on))
		schedule_once_begin(guard, RT_CALLER);
	rc = REAL(__cxa_guard_acquire)(guard);
	if (!rc && RT_UNLIKELY(schedule_on))
		schedule_once_end(guard);
	if (!rc)
		access_plain(RAW_READ, (char *)guard + 1, 1, RT_CALLER);
	return rc;
}

RT_INTERCEPT void __cxa_guard_release(uint64_t *guard)
{
	access_plain(RAW_WRITE, (char *)guard + 1, 1, RT_CALLER);
	REAL(__cxa_guard_release)(guard);
	if (RT_UNLIKELY(schedule_on))
		schedule_once_end(guard);
}

void __cxa_guard_abort(uint64_t *guard);
RT_INTERCEPT void __cxa_guard_abort(uint64_t *guard)
{
	REAL(__cxa_guard_abort)(guard);
	if (RT_UNLIKELY(schedule_on))
		schedule_once_end(guard);
}
