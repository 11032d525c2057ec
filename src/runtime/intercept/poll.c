/*
 * Waiting for what comes from outside: sockets, pipes, timers. A loop around that is not meant to
 * be atomic, no more than one around a condition variable, and who waits is cut there, too. Not one
 * that only looks, since it gives no time, or that sleeps, since it gives nothing to wait for.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

static void waits(void *what, bool waiting, uintptr_t pc)
{
	if (waiting)
		note(RAW_WAIT, what, RAW_CONDITION, pc);
}

/* No time at all, and not all the time that it takes? */
static bool only_looks(const struct timespec *limit)
{
	return limit && !limit->tv_sec && !limit->tv_nsec;
}

RT_INTERCEPT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	waits(fds, n && timeout, RT_CALLER);
	return REAL(poll)(fds, n, timeout);
}

RT_INTERCEPT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
		       const sigset_t *mask)
{
	waits(fds, n && !only_looks(limit), RT_CALLER);
	return REAL(ppoll)(fds, n, limit, mask);
}

/* What poll() and ppoll() become with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask,
		size_t size);

RT_INTERCEPT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	waits(fds, n && timeout, RT_CALLER);
	return REAL(__poll_chk)(fds, n, timeout, size);
}

RT_INTERCEPT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *limit,
			     const sigset_t *mask, size_t size)
{
	waits(fds, n && !only_looks(limit), RT_CALLER);
	return REAL(__ppoll_chk)(fds, n, limit, mask, size);
}

static void *any_set(fd_set *read, fd_set *write, fd_set *except)
{
	return read ? read : write ? write : except;
}

RT_INTERCEPT int select(int n, fd_set *restrict read, fd_set *restrict write,
			fd_set *restrict except, struct timeval *restrict limit)
{
	void *set = any_set(read, write, except);

	waits(set, set && !(limit && !limit->tv_sec && !limit->tv_usec), RT_CALLER);
	return REAL(select)(n, read, write, except, limit);
}

RT_INTERCEPT int pselect(int n, fd_set *restrict read, fd_set *restrict write,
			 fd_set *restrict except, const struct timespec *restrict limit,
			 const sigset_t *restrict mask)
{
	void *set = any_set(read, write, except);

	waits(set, set && !only_looks(limit), RT_CALLER);
	return REAL(pselect)(n, read, write, except, limit, mask);
}

RT_INTERCEPT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	waits(events, timeout, RT_CALLER);
	return REAL(epoll_wait)(fd, events, n, timeout);
}

RT_INTERCEPT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout,
			     const sigset_t *mask)
{
	waits(events, timeout, RT_CALLER);
	return REAL(epoll_pwait)(fd, events, n, timeout, mask);
}
