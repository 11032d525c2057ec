#include "runtime/intercept/driven.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

const char driven_files = 0;

bool driven_mutex_is_refused(const pthread_mutex_t *m)
{
	return (m->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK &&
	       m->__data.__owner == (int)syscall(SYS_gettid);
}

int driven_mutex_lock(pthread_mutex_t *m, uint64_t deadline, uintptr_t pc)
{
	if (driven_mutex_is_refused(m))
		return REAL(pthread_mutex_lock)(m);
	return DRIVEN_TRY(DRIVE_LOCK, m, driven_mutex_flags(m), deadline, pc,
			  REAL(pthread_mutex_trylock)(m), EBUSY, ETIMEDOUT, EBUSY,
			  REAL(pthread_mutex_lock)(m));
}

/*
 * The mutex is released and the thread waits, without a step in between. A signal handler or the
 * release of all threads wakes it for no reason, which every program has to expect.
 */
int driven_wait(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline, uintptr_t pc)
{
	enum schedule_woken woken;
	int rc;

	schedule_point(DRIVE_WAIT, c, pc);
	driven_test_cancel();
	rc = REAL(pthread_mutex_unlock)(m);
	if (rc)
		return rc;
	schedule_wake(m);
	woken = schedule_block(DRIVE_WAIT, c, deadline, SCHEDULE_CANCEL, pc);
	schedule_point(DRIVE_LOCK, m, pc);
	rc = driven_mutex_lock(m, 0, pc);
	driven_test_cancel();
	return rc ? rc : woken == SCHEDULE_TIMEOUT ? ETIMEDOUT : 0;
}

/* Returns 0 or errno. */
static int try_semaphore(sem_t *s)
{
	return REAL(sem_trywait)(s) ? errno : 0;
}

static int wait_semaphore(sem_t *s)
{
	return REAL(sem_wait)(s) ? errno : 0;
}

int driven_semaphore_wait(sem_t *s, uint64_t deadline, uintptr_t pc)
{
	int flags = SCHEDULE_CANCEL | driven_semaphore_flags(s), rc, saved = errno;

	schedule_point(DRIVE_SEM_WAIT, s, pc);
	driven_test_cancel();
	rc = DRIVEN_TRY(DRIVE_SEM_WAIT, s, flags, deadline, pc, try_semaphore(s), EAGAIN, ETIMEDOUT,
			EAGAIN, wait_semaphore(s));
	errno = rc ? rc : saved;
	return rc ? -1 : 0;
}

int driven_futex_wait(const uint32_t *word, uint32_t value, uint64_t deadline, uintptr_t pc)
{
	int flags = SCHEDULE_OUTSIDE;

	schedule_point(DRIVE_FUTEX, word, pc);
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
		return EAGAIN;
	for (;;) {
		switch (schedule_block(DRIVE_FUTEX, word, deadline, flags, pc)) {
		case SCHEDULE_TIMEOUT:
			return ETIMEDOUT;
		case SCHEDULE_SIGNAL:
			return EINTR;
		case SCHEDULE_RELEASED:
			return 0;
		case SCHEDULE_AGAIN:
			break;
		}
		/* Woken by a thread, or only to look again? */
		if (schedule_was_woken() || __atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
			return 0;
		flags |= SCHEDULE_RETRY;
	}
}

/*
 * The real barrier is not used while threads are driven: the last of them would have to wait in it
 * for the others to wake up.
 */
int driven_barrier_wait(pthread_barrier_t *b, uintptr_t pc)
{
	enum { COUNT = 2, SHARED = 3 }; /* fields of the C library's barrier */
	const unsigned int *fields = (const unsigned int *)b;
	int rc;

	schedule_point(DRIVE_BARRIER, b, pc);
	if (fields[SHARED]) {
		schedule_leave(DRIVE_BARRIER, b, pc);
		rc = REAL(pthread_barrier_wait)(b);
		schedule_return();
		return rc;
	}
	if (!schedule_on)
		return REAL(pthread_barrier_wait)(b);
	if (schedule_waiting(b) + 1 >= fields[COUNT]) {
		schedule_wake(b);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	for (;;)
		switch (schedule_block(DRIVE_BARRIER, b, 0, 0, pc)) {
		case SCHEDULE_RELEASED:
			return REAL(pthread_barrier_wait)(b);
		case SCHEDULE_SIGNAL:
			break; /* it goes on waiting */
		default:
			return 0;
		}
}

int driven_join(uint32_t id, uint64_t deadline, uintptr_t pc)
{
	const void *end = schedule_end_of(id);

	if (!schedule_on || !end)
		return 0;
	schedule_point(DRIVE_JOIN, end, pc);
	driven_test_cancel();
	while (!schedule_has_ended(id))
		switch (schedule_block(DRIVE_JOIN, end, deadline, SCHEDULE_CANCEL, pc)) {
		case SCHEDULE_RELEASED:
			return 0;
		case SCHEDULE_TIMEOUT:
			return ETIMEDOUT;
		default:
			driven_test_cancel();
		}
	return 0;
}
