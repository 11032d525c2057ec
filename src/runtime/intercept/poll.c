/*
 * Waiting for input from outside: sockets, pipes, timers. A loop around such a wait is not meant to
 * be atomic, like a loop around a condition variable; so the thread is cut here, too. It is not cut
 * if it only asks (the timeout is 0), or if it only sleeps (it waits for no file).
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

static void note_wait_if(void *what, bool waiting, uintptr_t pc)
{
	if (waiting)
		note(RAW_WAIT, what, RAW_CONDITION, pc);
}

/* Is the timeout 0? NULL means that there is none. */
static bool is_zero(const struct timespec *limit)
{
	return limit && !limit->tv_sec && !limit->tv_nsec;
}

RT_INTERCEPT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	note_wait_if(fds, n && timeout, RT_CALLER);
	return REAL(poll)(fds, n, timeout);
}

RT_INTERCEPT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
		       const sigset_t *mask)
{
	note_wait_if(fds, n && !is_zero(limit), RT_CALLER);
	return REAL(ppoll)(fds, n, limit, mask);
}

/* With _FORTIFY_SOURCE programs call these instead of poll() and ppoll(). */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask,
		size_t size);

RT_INTERCEPT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	note_wait_if(fds, n && timeout, RT_CALLER);
	return REAL(__poll_chk)(fds, n, timeout, size);
}

RT_INTERCEPT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *limit,
			     const sigset_t *mask, size_t size)
{
	note_wait_if(fds, n && !is_zero(limit), RT_CALLER);
	return REAL(__ppoll_chk)(fds, n, limit, mask, size);
}

/* Returns one of the sets, or NULL if there is none. */
static void *choose_set(fd_set *read, fd_set *write, fd_set *except)
{
	return read ? read : write ? write : except;
}

RT_INTERCEPT int select(int n, fd_set *restrict read, fd_set *restrict write,
			fd_set *restrict except, struct timeval *restrict limit)
{
	void *set = choose_set(read, write, except);

	note_wait_if(set, set && !(limit && !limit->tv_sec && !limit->tv_usec), RT_CALLER);
	return REAL(select)(n, read, write, except, limit);
}

RT_INTERCEPT int pselect(int n, fd_set *restrict read, fd_set *restrict write,
			 fd_set *restrict except, const struct timespec *restrict limit,
			 const sigset_t *restrict mask)
{
	void *set = choose_set(read, write, except);

	note_wait_if(set, set && !is_zero(limit), RT_CALLER);
	return REAL(pselect)(n, read, write, except, limit, mask);
}

RT_INTERCEPT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	note_wait_if(events, timeout, RT_CALLER);
	return REAL(epoll_wait)(fd, events, n, timeout);
}

RT_INTERCEPT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout,
			     const sigset_t *mask)
{
	note_wait_if(events, timeout, RT_CALLER);
	return REAL(epoll_pwait)(fd, events, n, timeout, mask);
}
