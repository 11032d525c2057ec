#include "runtime/link/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static int fd = -1; /* the socket; -1: no connection */
static enum socket_state state;
static int peer; /* the reporter's process; 0: not known */
/* The identity of the socket: the program may close any descriptor and use its number again. */
static dev_t device;
static ino_t inode;

enum socket_state socket_state(void)
{
	return state;
}

void socket_close(enum socket_state why)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
	fd = -1;
	state = why;
}

/* --- waiting for a reporter that does not answer --- */

/* How often to look at a silent reporter, and how often it may be seen stopped, or not at all. */
enum { LOOK_MS = 200, STOPPED_MAX = 6, UNSEEN_MAX = 50 };
struct patience {
	uint64_t looked; /* milliseconds */
	uint32_t stopped, unseen;
};

static uint64_t now_ms(void)
{
	struct timespec now = {0};

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * The state of the reporter's process, as ps shows it ('T': stopped); 0 if it cannot be seen: there
 * is no /proc, the program may not read it, or the reporter is outside of its container.
 */
static char look_at_reporter(void)
{
	char path[32], text[512];
	const char *after;
	long n = -1;
	int f;

	if (peer <= 0)
		return 0;
	rt_format(path, sizeof path, "/proc/%d/stat", peer);
	f = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (f >= 0) {
		n = syscall(SYS_read, f, text, sizeof text - 1);
		syscall(SYS_close, f);
	}
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name of the program is in parentheses, and may contain some. */
	after = strrchr(text, ')');
	return after && after[1] == ' ' ? after[2] : 0;
}

/*
 * Nothing came for a moment. Is it hopeless to wait on? Looks are counted, not seconds: the program
 * may have been stopped together with the reporter.
 */
static bool is_hopeless(struct patience *p)
{
	uint64_t now = now_ms();
	char is;

	if (now - p->looked < LOOK_MS)
		return false;
	p->looked = now;
	is = look_at_reporter();
	p->stopped = is == 'T' || is == 't' ? p->stopped + 1 : 0;
	p->unseen += !is;
	return p->stopped >= STOPPED_MAX || p->unseen >= UNSEEN_MAX;
}

/* --- bytes --- */

/*
 * A write to a reporter that has died must not end the program. The mask of the thread is kept in
 * `saved`; true: the signal was already waiting.
 */
static bool block_sigpipe(sigset_t *saved)
{
	sigset_t pipe, waiting;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigemptyset(saved);
	sigemptyset(&waiting);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &pipe, saved, _NSIG / 8);
	return sigismember(saved, SIGPIPE) && !syscall(SYS_rt_sigpending, &waiting, _NSIG / 8) &&
	       sigismember(&waiting, SIGPIPE);
}

static void unblock_sigpipe(const sigset_t *saved, bool was_waiting, bool raised)
{
	struct timespec none = {0};
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (raised && !was_waiting)
		syscall(SYS_rt_sigtimedwait, &pipe, NULL, &none, _NSIG / 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, _NSIG / 8);
}

/* Write or read all of it. Returns SOCKET_OPEN, or why that fails. */
static enum socket_state transfer_all(bool out, char *p, size_t n)
{
	struct patience patience = {.looked = now_ms()};

	while (n) {
		long done = out ? syscall(SYS_write, fd, p, n) : syscall(SYS_read, fd, p, n);

		if (done > 0) {
			p += done;
			n -= (size_t)done;
			patience.stopped = patience.unseen = 0;
		} else if (done == 0 || (errno != EINTR && errno != EAGAIN)) {
			return SOCKET_DEAD;
		} else if (is_hopeless(&patience)) {
			return SOCKET_STOPPED;
		}
	}
	return SOCKET_OPEN;
}

bool socket_write(const void *bytes, size_t n)
{
	enum socket_state result;
	sigset_t saved;
	bool waiting;

	if (!n)
		return true;
	waiting = block_sigpipe(&saved);
	result = transfer_all(true, (char *)(uintptr_t)bytes, n);
	unblock_sigpipe(&saved, waiting, result == SOCKET_DEAD);
	if (result != SOCKET_OPEN)
		socket_close(result);
	return result == SOCKET_OPEN;
}

bool socket_read(void *bytes, size_t n)
{
	enum socket_state result = transfer_all(false, bytes, n);

	/* A stopped reporter stays open for socket_write_last(). */
	if (result == SOCKET_STOPPED)
		state = result;
	else if (result != SOCKET_OPEN)
		socket_close(result);
	return result == SOCKET_OPEN;
}

void socket_write_last(const void *bytes, size_t n)
{
	sigset_t saved;
	bool waiting;
	long done;

	if (fd < 0)
		return;
	waiting = block_sigpipe(&saved);
	done = syscall(SYS_write, fd, bytes, n);
	unblock_sigpipe(&saved, waiting, done < 0 && errno == EPIPE);
	socket_close(state);
}

bool socket_write_descriptor(const void *bytes, size_t n, int descriptor)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)(uintptr_t)bytes, n};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof control};
	struct patience patience = {.looked = now_ms()};
	long done;

	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
	do
		done = syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
	while (done < 0 && (errno == EINTR || errno == EAGAIN) && !is_hopeless(&patience));
	if (done > 0)
		return socket_write((const char *)bytes + done, n - (size_t)done);
	socket_close(errno == EAGAIN ? SOCKET_STOPPED : SOCKET_DEAD);
	return false;
}

/* --- begin and end --- */

void socket_use(int low, int reporter)
{
	/* A high number: programs expect to get low ones for their own files. */
	int up = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 500);
	struct timeval look = {.tv_usec = LOOK_MS * 1000};
	struct stat st = {0};

	if (up >= 0)
		syscall(SYS_close, low);
	fd = up < 0 ? low : up;
	peer = reporter;
	state = SOCKET_OPEN;
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look);
	syscall(SYS_fstat, fd, &st);
	device = st.st_dev;
	inode = st.st_ino;
}

bool socket_connect(const char *name, size_t n)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct ucred who = {0};
	socklen_t size = sizeof who;
	int s;

	if (n >= sizeof a.sun_path) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(a.sun_path, name, n);
	if (a.sun_path[0] == '@')
		a.sun_path[0] = 0;
	s = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return false;
	if (syscall(SYS_connect, s, &a, offsetof(struct sockaddr_un, sun_path) + n)) {
		int why = errno;

		syscall(SYS_close, s);
		errno = why;
		return false;
	}
	syscall(SYS_getsockopt, s, SOL_SOCKET, SO_PEERCRED, &who, &size);
	socket_use(s, who.pid);
	return true;
}

void socket_check(void)
{
	struct stat st;

	if (fd < 0)
		return;
	if (syscall(SYS_fstat, fd, &st)) {
		/* A sandbox may forbid to ask. */
		if (errno != EBADF)
			return;
	} else if (st.st_dev == device && st.st_ino == inode) {
		return;
	}
	fd = -1;
	state = SOCKET_CLOSED;
}
