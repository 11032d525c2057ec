/*
 * Functions that only matter to a driven program (schedule/schedule.h): sleeps and clocks, files,
 * processes, signals, futexes, cancellation. In a program that is not driven, each of them makes
 * the real call after one test.
 *
 * Not here: functions that block inside the C library without calling these, such as system() or
 * fread(). The command sees that the thread sleeps in them, and gives its turn away.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "runtime/intercept/driven.h"
#include "runtime/intercept/intercept.h"
#include "runtime/thread/registry.h"

#include "base/banned.h"

/* --- time --- */

/* Sleep until the deadline. Returns 0, EINTR with the time that is left, or -1: make the real call.
 */
static int sleep_until(uint64_t deadline, struct timespec *left, uintptr_t pc)
{
	enum schedule_woken woken =
		schedule_block(DRIVE_SLEEP, NULL, deadline, SCHEDULE_CANCEL, pc);
	uint64_t now = schedule_now();

	driven_test_cancel();
	if (woken == SCHEDULE_RELEASED)
		return -1;
	if (woken != SCHEDULE_SIGNAL || now >= deadline)
		return 0;
	if (left)
		*left = (struct timespec){(time_t)((deadline - now) / 1000000000),
					  (long)((deadline - now) % 1000000000)};
	return EINTR;
}

RT_INTERCEPT int nanosleep(const struct timespec *length, struct timespec *left)
{
	if (RT_UNLIKELY(schedule_on)) {
		int rc = sleep_until(schedule_deadline_in(length), left, RT_CALLER);

		if (rc >= 0) {
			errno = rc ? rc : errno;
			return rc ? -1 : 0;
		}
	}
	return REAL(nanosleep)(length, left);
}

RT_INTERCEPT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *length,
				 struct timespec *left)
{
	if (RT_UNLIKELY(schedule_on)) {
		int rc = flags & TIMER_ABSTIME
				 ? sleep_until(schedule_deadline(clock, length), NULL, RT_CALLER)
				 : sleep_until(schedule_deadline_in(length), left, RT_CALLER);

		if (rc >= 0)
			return rc;
	}
	return REAL(clock_nanosleep)(clock, flags, length, left);
}

RT_INTERCEPT int usleep(useconds_t length)
{
	if (RT_UNLIKELY(schedule_on)) {
		struct timespec t = {length / 1000000, length % 1000000 * 1000l};
		int rc = sleep_until(schedule_deadline_in(&t), NULL, RT_CALLER);

		if (rc >= 0) {
			errno = rc ? rc : errno;
			return rc ? -1 : 0;
		}
	}
	return REAL(usleep)(length);
}

RT_INTERCEPT unsigned int sleep(unsigned int seconds)
{
	if (RT_UNLIKELY(schedule_on)) {
		struct timespec t = {seconds, 0}, left = {0, 0};
		int rc = sleep_until(schedule_deadline_in(&t), &left, RT_CALLER);

		if (rc >= 0)
			return rc ? (unsigned int)left.tv_sec + (left.tv_nsec > 0) : 0;
	}
	return REAL(sleep)(seconds);
}

RT_INTERCEPT int thrd_sleep(const struct timespec *length, struct timespec *left)
{
	if (RT_UNLIKELY(schedule_on)) {
		int rc = sleep_until(schedule_deadline_in(length), left, RT_CALLER);

		if (rc >= 0)
			return rc ? -1 : 0;
	}
	return REAL(thrd_sleep)(length, left);
}

RT_INTERCEPT int sched_yield(void)
{
	if (RT_UNLIKELY(schedule_on)) {
		schedule_yield(RT_CALLER);
		return 0;
	}
	return REAL(sched_yield)();
}

RT_INTERCEPT void thrd_yield(void)
{
	if (RT_UNLIKELY(schedule_on))
		schedule_yield(RT_CALLER);
	else
		REAL(thrd_yield)();
}

RT_INTERCEPT int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (RT_UNLIKELY(schedule_clocks) && schedule_clock(clock, now))
		return 0;
	return REAL(clock_gettime)(clock, now);
}

RT_INTERCEPT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec t;

	if (RT_UNLIKELY(schedule_clocks) && schedule_clock(CLOCK_REALTIME, &t)) {
		*now = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
		return 0;
	}
	return REAL(gettimeofday)(now, zone);
}

RT_INTERCEPT time_t time(time_t *to)
{
	struct timespec t;

	if (RT_UNLIKELY(schedule_clocks) && schedule_clock(CLOCK_REALTIME, &t)) {
		if (to)
			*to = t.tv_sec;
		return t.tv_sec;
	}
	return REAL(time)(to);
}

RT_INTERCEPT int timespec_get(struct timespec *to, int base)
{
	if (RT_UNLIKELY(schedule_clocks) && base == TIME_UTC && schedule_clock(CLOCK_REALTIME, to))
		return base;
	return REAL(timespec_get)(to, base);
}

/* --- files --- */

/* Returns 1 if a call for this descriptor would not wait. */
static int is_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	int flags = REAL(fcntl)(fd, F_GETFL);

	/* An error is the real call's to report. */
	return flags < 0 || flags & O_NONBLOCK || REAL(poll)(&p, 1, 0);
}

/* Wait until a call for this descriptor would not wait; then the thread still has its turn. */
static void wait_for_file(int fd, short events, uintptr_t pc)
{
	int saved = errno;

	if (rt_is_inside(&rt_self))
		return;
	schedule_point(DRIVE_FILE, DRIVEN_FILES, pc);
	(void)DRIVEN_TRY(DRIVE_FILE, DRIVEN_FILES, SCHEDULE_OUTSIDE | SCHEDULE_CANCEL, 0, pc,
			 is_ready(fd, events), 0, 1, 0, 1);
	errno = saved;
}

#define INPUT(type, name, params, args)                                                            \
	RT_INTERCEPT type name params                                                              \
	{                                                                                          \
		if (RT_UNLIKELY(schedule_on))                                                      \
			wait_for_file(fd, POLLIN, RT_CALLER);                                      \
		return REAL(name) args;                                                            \
	}
/* Others may wait for what is written. */
#define OUTPUT(type, name, params, args)                                                           \
	RT_INTERCEPT type name params                                                              \
	{                                                                                          \
		type rc;                                                                           \
                                                                                                   \
		if (RT_LIKELY(!schedule_on) || rt_is_inside(&rt_self))                             \
			return REAL(name) args;                                                    \
		wait_for_file(fd, POLLOUT, RT_CALLER);                                             \
		rc = REAL(name) args;                                                              \
		schedule_wake(DRIVEN_FILES);                                                       \
		return rc;                                                                         \
	}
INPUT(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
INPUT(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
INPUT(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
INPUT(ssize_t, recvfrom,
      (int fd, void *restrict to, size_t n, int flags, struct sockaddr *restrict from,
       socklen_t *restrict size),
      (fd, to, n, flags, from, size))
INPUT(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
INPUT(int, accept, (int fd, struct sockaddr *restrict from, socklen_t *restrict size),
      (fd, from, size))
INPUT(int, accept4, (int fd, struct sockaddr *restrict from, socklen_t *restrict size, int flags),
      (fd, from, size, flags))
OUTPUT(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
OUTPUT(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
OUTPUT(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
OUTPUT(ssize_t, sendto,
       (int fd, const void *from, size_t n, int flags, const struct sockaddr *to, socklen_t size),
       (fd, from, n, flags, to, size))
OUTPUT(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))

RT_INTERCEPT int flock(int fd, int how)
{
	int rc;

	if (RT_LIKELY(!schedule_on))
		return REAL(flock)(fd, how);
	schedule_point(DRIVE_FILE, DRIVEN_FILES, RT_CALLER);
	rc = how & (LOCK_NB | LOCK_UN)
		     ? REAL(flock)(fd, how)
		     : DRIVEN_TRY(DRIVE_FILE, DRIVEN_FILES, SCHEDULE_OUTSIDE | SCHEDULE_CANCEL, 0,
				  RT_CALLER,
				  REAL(flock)(fd, how | LOCK_NB) ? (errno == EWOULDBLOCK ? 1 : -1)
								 : 0,
				  1, 1, 1, REAL(flock)(fd, how));
	schedule_wake(DRIVEN_FILES);
	return rc;
}

/* --- processes and signals --- */

RT_INTERCEPT pid_t waitpid(pid_t pid, int *status, int options)
{
	if (RT_LIKELY(!schedule_on) || options & WNOHANG)
		return REAL(waitpid)(pid, status, options);
	schedule_point(DRIVE_PROCESS, NULL, RT_CALLER);
	return DRIVEN_TRY(DRIVE_PROCESS, NULL, SCHEDULE_OUTSIDE | SCHEDULE_CANCEL, 0, RT_CALLER,
			  REAL(waitpid)(pid, status, options | WNOHANG), 0, 0, 0,
			  REAL(waitpid)(pid, status, options));
}

RT_INTERCEPT pid_t wait(int *status)
{
	if (RT_LIKELY(!schedule_on))
		return REAL(wait)(status);
	schedule_point(DRIVE_PROCESS, NULL, RT_CALLER);
	return DRIVEN_TRY(DRIVE_PROCESS, NULL, SCHEDULE_OUTSIDE | SCHEDULE_CANCEL, 0, RT_CALLER,
			  REAL(waitpid)(-1, status, WNOHANG), 0, 0, 0, REAL(wait)(status));
}

/* Returns a signal, 0 if none is pending, or -1. */
static int take_signal(const sigset_t *set, siginfo_t *info)
{
	static const struct timespec now = {0, 0};
	int rc = REAL(sigtimedwait)(set, info, &now);

	return rc < 0 && errno == EAGAIN ? 0 : rc;
}

static int wait_for_signal(const sigset_t *set, siginfo_t *info, uintptr_t pc)
{
	schedule_point(DRIVE_SIGNAL, NULL, pc);
	return DRIVEN_TRY(DRIVE_SIGNAL, NULL, SCHEDULE_OUTSIDE | SCHEDULE_CANCEL, 0, pc,
			  take_signal(set, info), 0, 0, (errno = EINTR, -1),
			  REAL(sigwaitinfo)(set, info));
}

RT_INTERCEPT int sigwait(const sigset_t *restrict set, int *restrict number)
{
	int saved = errno, rc;
	siginfo_t info;

	if (RT_LIKELY(!schedule_on))
		return REAL(sigwait)(set, number);
	do
		rc = wait_for_signal(set, &info, RT_CALLER);
	while (rc < 0 && errno == EINTR);
	if (rc > 0)
		*number = rc;
	rc = rc < 0 ? errno : 0;
	errno = saved;
	return rc;
}

RT_INTERCEPT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return RT_UNLIKELY(schedule_on) ? wait_for_signal(set, info, RT_CALLER)
					: REAL(sigwaitinfo)(set, info);
}

/* Calls that wait for something that cannot be tried: the thread leaves its turn. */
#define AWAY(op, type, name, params, args)                                                         \
	RT_INTERCEPT type name params                                                              \
	{                                                                                          \
		type rc;                                                                           \
                                                                                                   \
		if (RT_LIKELY(!schedule_on))                                                       \
			return REAL(name) args;                                                    \
		schedule_leave(op, NULL, RT_CALLER);                                               \
		rc = REAL(name) args;                                                              \
		schedule_return();                                                                 \
		return rc;                                                                         \
	}
AWAY(DRIVE_SIGNAL, int, pause, (void), ())
AWAY(DRIVE_SIGNAL, int, sigsuspend, (const sigset_t *mask), (mask))
AWAY(DRIVE_FILE, int, connect, (int fd, const struct sockaddr *to, socklen_t size), (fd, to, size))

static const char all_semaphores; /* what threads wait for in semop() */

RT_INTERCEPT int semop(int id, struct sembuf *operations, size_t n)
{
	struct sembuf try[32];
	int rc;

	if (RT_LIKELY(!schedule_on) || n > sizeof try / sizeof *try)
		return REAL(semop)(id, operations, n);
	for (size_t i = 0; i < n; i++) {
		try[i] = operations[i];
		try[i].sem_flg = (short)(try[i].sem_flg | IPC_NOWAIT);
	}
	schedule_point(DRIVE_SEM_WAIT, &all_semaphores, RT_CALLER);
	rc = DRIVEN_TRY(DRIVE_SEM_WAIT, &all_semaphores, SCHEDULE_OUTSIDE, 0, RT_CALLER,
			REAL(semop)(id, try, n) ? (errno == EAGAIN ? 1 : -1) : 0, 1, 1,
			(errno = EINTR, -1), REAL(semop)(id, operations, n));
	schedule_wake(&all_semaphores);
	return rc;
}

/* --- futexes --- */

static long call_system(const long a[7])
{
	register long r10 __asm__("r10") = a[4];
	register long r8 __asm__("r8") = a[5];
	register long r9 __asm__("r9") = a[6];
	long rc = a[0];

	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"(a[1]), "S"(a[2]), "d"(a[3]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if ((unsigned long)rc < -4095ul)
		return rc;
	errno = (int)-rc;
	return -1;
}

/* Returns the result of the call, or -2: make the real one. */
static long driven_futex(const long a[7], uintptr_t pc)
{
	uint32_t *word = (uint32_t *)a[1];
	int op = (int)a[2] & FUTEX_CMD_MASK, rc;
	clockid_t clock = a[2] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	const struct timespec *limit = (const struct timespec *)a[4];
	uint64_t deadline = 0;
	long woken;

	switch (op) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		if (limit)
			deadline = op == FUTEX_WAIT ? schedule_deadline_in(limit)
						    : schedule_deadline(clock, limit);
		rc = driven_futex_wait(word, (uint32_t)a[3], deadline, pc);
		if (!rc)
			return 0;
		errno = rc;
		return -1;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		schedule_point(DRIVE_NOTIFY, word, pc);
		woken = call_system(a);
		while (woken >= 0 && woken < (int)a[3] && schedule_waiting(word)) {
			schedule_wake_one(word, pc);
			woken++;
		}
		return woken;
	default:
		return -2;
	}
}

RT_INTERCEPT long syscall(long number, ...)
{
	long a[7] = {number}, rc;
	va_list args;

	va_start(args, number);
	for (int i = 1; i < 7; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (RT_UNLIKELY(schedule_on) && number == SYS_futex && !rt_is_inside(&rt_self)) {
		rc = driven_futex(a, RT_CALLER);
		if (rc != -2)
			return rc;
	}
	return call_system(a);
}

/* --- cancellation --- */

RT_INTERCEPT int pthread_cancel(pthread_t handle)
{
	uint32_t id = RT_UNLIKELY(schedule_on) ? registry_find(handle) : REGISTRY_UNKNOWN;
	int rc = REAL(pthread_cancel)(handle);

	if (!rc && RT_UNLIKELY(schedule_on))
		schedule_cancel(id);
	return rc;
}
