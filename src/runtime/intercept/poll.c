/*
 * Waiting for input from outside: sockets, pipes, timers. A loop around such a wait is not meant to
 * be atomic, like a loop around a condition variable; so the thread is cut here, too. It is not cut
 * if it only asks (the timeout is 0), or if it only sleeps (it waits for no file).
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "runtime/intercept/driven.h"
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

/* A driven thread looks, and waits for its turn in between. `limit`: NULL if there is none. */
#define DRIVEN_POLL(look, real, limit)                                                             \
	({                                                                                         \
		const struct timespec *limit_ = (limit);                                           \
		int found_;                                                                        \
                                                                                                   \
		schedule_point(DRIVE_FILE, DRIVEN_FILES, RT_CALLER);                               \
		if (is_zero(limit_)) {                                                             \
			found_ = (look);                                                           \
			if (!found_)                                                               \
				schedule_yield(RT_CALLER);                                         \
		} else {                                                                           \
			found_ = DRIVEN_TRY(DRIVE_FILE, DRIVEN_FILES,                              \
					    SCHEDULE_OUTSIDE | SCHEDULE_CANCEL,                    \
					    limit_ ? schedule_deadline_in(limit_) : 0, RT_CALLER,  \
					    look, 0, 0, (errno = EINTR, -1), real);                \
		}                                                                                  \
		found_;                                                                            \
	})

/* A timeout in milliseconds as a time; negative: none. */
static const struct timespec *in_timespec(int milliseconds, struct timespec *to)
{
	if (milliseconds < 0)
		return NULL;
	*to = (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000l};
	return to;
}

RT_INTERCEPT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	note_wait_if(fds, n && timeout, RT_CALLER);
	if (RT_UNLIKELY(schedule_on)) {
		struct timespec t;

		return DRIVEN_POLL(REAL(poll)(fds, n, 0), REAL(poll)(fds, n, timeout),
				   in_timespec(timeout, &t));
	}
	return REAL(poll)(fds, n, timeout);
}

RT_INTERCEPT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
		       const sigset_t *mask)
{
	note_wait_if(fds, n && !is_zero(limit), RT_CALLER);
	if (RT_UNLIKELY(schedule_on) && !mask) {
		struct timespec now = {0, 0};

		return DRIVEN_POLL(REAL(ppoll)(fds, n, &now, NULL),
				   REAL(ppoll)(fds, n, limit, NULL), limit);
	}
	return REAL(ppoll)(fds, n, limit, mask);
}

/* With _FORTIFY_SOURCE programs call these instead of poll() and ppoll(). */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask,
		size_t size);

RT_INTERCEPT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	note_wait_if(fds, n && timeout, RT_CALLER);
	if (RT_UNLIKELY(schedule_on)) {
		struct timespec t;

		return DRIVEN_POLL(REAL(__poll_chk)(fds, n, 0, size),
				   REAL(__poll_chk)(fds, n, timeout, size),
				   in_timespec(timeout, &t));
	}
	return REAL(__poll_chk)(fds, n, timeout, size);
}

RT_INTERCEPT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *limit,
			     const sigset_t *mask, size_t size)
{
	note_wait_if(fds, n && !is_zero(limit), RT_CALLER);
	if (RT_UNLIKELY(schedule_on) && !mask) {
		struct timespec now = {0, 0};

		return DRIVEN_POLL(REAL(__ppoll_chk)(fds, n, &now, NULL, size),
				   REAL(__ppoll_chk)(fds, n, limit, NULL, size), limit);
	}
	return REAL(__ppoll_chk)(fds, n, limit, mask, size);
}

/* Returns one of the sets, or NULL if there is none. */
static void *choose_set(fd_set *read, fd_set *write, fd_set *except)
{
	return read ? read : write ? write : except;
}

/* select() empties the sets if nothing is ready, so each look needs them again. */
struct sets {
	fd_set read, write, except;
};

static int look_at_sets(int n, const struct sets *asked, fd_set *read, fd_set *write,
			fd_set *except)
{
	struct timeval now = {0, 0};

	if (read)
		*read = asked->read;
	if (write)
		*write = asked->write;
	if (except)
		*except = asked->except;
	return REAL(select)(n, read, write, except, &now);
}

/* In the end the sets of descriptors are as select() would leave them. */
static int driven_select(int n, fd_set *read, fd_set *write, fd_set *except,
			 const struct timespec *limit, uintptr_t pc)
{
	struct sets asked;

	(void)pc;
	if (read)
		asked.read = *read;
	if (write)
		asked.write = *write;
	if (except)
		asked.except = *except;
	return DRIVEN_POLL(look_at_sets(n, &asked, read, write, except),
			   look_at_sets(n, &asked, read, write, except), limit);
}

RT_INTERCEPT int select(int n, fd_set *restrict read, fd_set *restrict write,
			fd_set *restrict except, struct timeval *restrict limit)
{
	void *set = choose_set(read, write, except);

	note_wait_if(set, set && !(limit && !limit->tv_sec && !limit->tv_usec), RT_CALLER);
	if (RT_UNLIKELY(schedule_on)) {
		struct timespec t;

		if (limit)
			t = (struct timespec){limit->tv_sec, limit->tv_usec * 1000};
		return driven_select(n, read, write, except, limit ? &t : NULL, RT_CALLER);
	}
	return REAL(select)(n, read, write, except, limit);
}

RT_INTERCEPT int pselect(int n, fd_set *restrict read, fd_set *restrict write,
			 fd_set *restrict except, const struct timespec *restrict limit,
			 const sigset_t *restrict mask)
{
	void *set = choose_set(read, write, except);

	note_wait_if(set, set && !is_zero(limit), RT_CALLER);
	if (RT_UNLIKELY(schedule_on) && !mask)
		return driven_select(n, read, write, except, limit, RT_CALLER);
	return REAL(pselect)(n, read, write, except, limit, mask);
}

RT_INTERCEPT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	note_wait_if(events, timeout, RT_CALLER);
	if (RT_UNLIKELY(schedule_on)) {
		struct timespec t;

		return DRIVEN_POLL(REAL(epoll_wait)(fd, events, n, 0),
				   REAL(epoll_wait)(fd, events, n, timeout),
				   in_timespec(timeout, &t));
	}
	return REAL(epoll_wait)(fd, events, n, timeout);
}

RT_INTERCEPT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout,
			     const sigset_t *mask)
{
	note_wait_if(events, timeout, RT_CALLER);
	if (RT_UNLIKELY(schedule_on) && !mask) {
		struct timespec t;

		return DRIVEN_POLL(REAL(epoll_wait)(fd, events, n, 0),
				   REAL(epoll_wait)(fd, events, n, timeout),
				   in_timespec(timeout, &t));
	}
	return REAL(epoll_pwait)(fd, events, n, timeout, mask);
}
