#include "runtime/link/reporter_link.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/link/modules.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"
#include "trace/block_policy.h"

#include "base/banned.h"

/* The folder of the program `atomsan`; the compiler wrapper links it into the program. */
extern const char atomsan_home[] __attribute__((weak));

static int fd = -1; /* the socket; -1: no connection */
/* The identity of the socket: the program may close any descriptor and use its number again. */
static dev_t device;
static ino_t inode;
static bool tried;   /* to connect */
static bool started; /* a connection was made */
static bool lost;    /* the program closed it */
static uint32_t lock;

/* Send or receive all of it; false if that fails. link_send() restores errno. */
static bool transfer_all(bool out, void *data, size_t n)
{
	char *p = data;

	while (n) {
		long done = out ? syscall(SYS_sendto, fd, p, n, MSG_NOSIGNAL, NULL, 0)
				: syscall(SYS_recvfrom, fd, p, n, 0, NULL, NULL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

static bool write_all(const void *data, size_t n)
{
	return transfer_all(true, (void *)(uintptr_t)data, n);
}

static bool read_all(void *data, size_t n)
{
	return transfer_all(false, data, n);
}

static void close_link(void)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
	fd = -1;
}

/* Use this socket, under a high number: programs expect to get low ones for their own files. */
static void use_socket(int low)
{
	int up = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 500);
	struct stat st = {0};

	if (up >= 0)
		syscall(SYS_close, low);
	fd = up < 0 ? low : up;
	syscall(SYS_fstat, fd, &st);
	device = st.st_dev;
	inode = st.st_ino;
}

/* If the program closed the socket, forget it, so that the next message makes a new connection. */
static void check_socket(void)
{
	struct stat st;

	if (fd < 0 || (!syscall(SYS_fstat, fd, &st) && st.st_dev == device && st.st_ino == inode))
		return;
	fd = -1;
	tried = false;
	lost = true;
}

/* Connect to a socket by name; "@" stands for the first byte of an abstract one. */
static bool connect_to(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = strlen(name);
	int s;

	if (n >= sizeof a.sun_path)
		return false;
	memcpy(a.sun_path, name, n);
	if (a.sun_path[0] == '@')
		a.sun_path[0] = 0;
	s = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return false;
	if (syscall(SYS_connect, s, &a, offsetof(struct sockaddr_un, sun_path) + n)) {
		syscall(SYS_close, s);
		return false;
	}
	use_socket(s);
	return true;
}

/* --- a reporter of our own --- */

enum { STACK = 1 << 14 };
struct start {
	const char *path;
	int ours, theirs;
	sigset_t mask;
	char *stack; /* for the grandchild */
};

/*
 * Close all files of the program, in the reporter: another process may wait for the end of a pipe
 * that the program writes to.
 */
static void close_program_files(void)
{
	if (!syscall(SYS_close_range, 3, ~0u, 0))
		return;
	for (int i = 3; i < 4096; i++)
		syscall(SYS_close, i);
}

/*
 * Become the reporter, in a child that shares our memory until then. It gets a
 * process group of its own: if the user interrupts the program at the terminal, the
 * reporter must live on to print what was found.
 */
static int exec_reporter(void *arg)
{
	const struct start *s = arg;
	char *const argv[] = {(char *)"atomsan", (char *)"live", NULL};
	extern char **environ;

	syscall(SYS_setpgid, 0, 0);
	syscall(SYS_dup2, s->theirs, 0);
	if (syscall(SYS_dup2, 2, 1) < 0)
		syscall(SYS_close, 1);
	close_program_files();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s->mask, NULL, _NSIG / 8);
	syscall(SYS_execve, s->path, argv, environ);
	syscall(SYS_exit, 127);
	return 0;
}

/*
 * In the child: create the grandchild that becomes the reporter, and end. A child that has executed
 * a program is an ordinary child, and the program's wait() would find it; a grandchild it cannot.
 */
static int start_grandchild(void *arg)
{
	const struct start *s = arg;

	return clone(exec_reporter, s->stack, CLONE_VM | CLONE_VFORK, arg) < 0;
}

/*
 * Move a descriptor to a number above 2; it has a lower one if the program has closed its standard
 * files. Returns the new number, or -1.
 */
static int move_above_standard(int low)
{
	int up = low > 2 ? low : (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 3);

	if (up != low)
		syscall(SYS_close, low);
	return up;
}

/* Start a reporter and connect to it. Called with the lock held: the static buffers are shared. */
static bool start_reporter(void)
{
	static char stack[2][STACK] __attribute__((aligned(16)));
	const char *home = atomsan_home;
	static char path[4096]; /* static, because threads may have little stack */
	struct start s = {.path = path, .stack = stack[1]};
	sigset_t all;
	int pair[2];
	int status = 0;
	long pid;

	if (!home || strlen(home) + 16 > sizeof path)
		return false;
	rt_format(path, sizeof path, "%s/atomsan", home);
	if (syscall(SYS_access, path, X_OK))
		return false;
	if (syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return false;
	s.ours = move_above_standard(pair[0]);
	s.theirs = move_above_standard(pair[1]);
	if (s.ours < 0 || s.theirs < 0) {
		syscall(SYS_close, s.ours);
		syscall(SYS_close, s.theirs);
		return false;
	}
	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &s.mask, _NSIG / 8);
	/* Without SIGCHLD in the flags, the child's end sends no signal, and wait() ignores it. */
	pid = clone(start_grandchild, stack[0] + sizeof stack, CLONE_VM | CLONE_VFORK, &s);
	if (pid >= 0)
		while (syscall(SYS_wait4, pid, &status, __WALL, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s.mask, NULL, _NSIG / 8);
	syscall(SYS_close, s.theirs);
	if (pid < 0 || status) {
		syscall(SYS_close, s.ours);
		return false;
	}
	use_socket(s.ours);
	return true;
}

/* Send one message. Closes the connection if that fails. */
static bool send_parts(enum live_type type, const struct link_part *parts, size_t n)
{
	struct live_head head = {.type = type};
	bool ok;

	for (size_t i = 0; i < n; i++)
		head.bytes += (uint32_t)parts[i].bytes;
	ok = write_all(&head, sizeof head);
	for (size_t i = 0; ok && i < n; i++)
		ok = write_all(parts[i].data, parts[i].bytes);
	if (!ok)
		close_link();
	return ok;
}

/* Send a message without a body, and a descriptor with it. Closes the connection if that fails. */
static bool send_descriptor(enum live_type type, int descriptor)
{
	struct live_head head = {.type = type};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {&head, sizeof head};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof control};
	long done;
	bool ok;

	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
	do
		done = syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
	while (done < 0 && errno == EINTR);
	ok = done > 0 && write_all((char *)&head + done, sizeof head - (size_t)done);
	if (!ok)
		close_link();
	return ok;
}

static void send_module(uint64_t bias, const char *text, size_t n, void *arg)
{
	const struct link_part parts[] = {{&bias, sizeof bias}, {text, n}};

	(void)arg;
	if (fd >= 0)
		send_parts(LIVE_MODULE, parts, 2);
}

/* The first messages: options, command line, all modules. */
static void send_hello(void)
{
	struct live_hello h = {LIVE_VERSION, (uint32_t)getpid()};
	static char text[sizeof rt_options + 1024];
	size_t n = rt_options_format(text, sizeof text - 1), m;
	static char command[4096];
	int f = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	long got = f >= 0 ? syscall(SYS_read, f, command, sizeof command - 1) : 0;
	struct link_part parts[] = {{&h, sizeof h}, {text, n + 1}, {command, 0}};

	if (f >= 0)
		syscall(SYS_close, f);
	m = got > 0 ? (size_t)got : 0;
	while (m && !command[m - 1])
		m--;
	for (size_t i = 0; i < m; i++)
		command[i] = command[i] ? command[i] : ' ';
	parts[2].bytes = m;
	text[n] = 0;
	send_parts(LIVE_HELLO, parts, 3);
	modules_each(send_module, NULL);
}

/* Connect, unless that was tried before. Returns whether there is a connection. */
static bool connect_once(void)
{
	RT_ASSERT(lock);
	if (tried)
		return fd >= 0;
	tried = true;
	/* Its environment, and perhaps its folder, belong to the program's user. */
	if (rt_is_privileged)
		return false;
	started = *rt_options.reporter ? connect_to(rt_options.reporter) : start_reporter();
	if (started)
		send_hello();
	return fd >= 0;
}

bool link_is_up(void)
{
	return fd >= 0;
}

const char *link_why_none(void)
{
	if (rt_is_privileged)
		return "the program has privileges that its user may lack";
	return started ? "the program 'atomsan' was started, and has ended"
		       : "the program 'atomsan' cannot be started";
}

bool link_was_lost(void)
{
	return lost;
}

bool link_has_rules(void)
{
	return rt_options.rules;
}

bool link_send(enum live_type type, const struct link_part *parts, size_t n, void *answer,
	       size_t answer_bytes)
{
	struct live_head head;
	int saved = errno;
	bool ok;

	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	ok = connect_once() && send_parts(type, parts, n);
	if (ok && answer) {
		ok = read_all(&head, sizeof head) && head.bytes == answer_bytes &&
		     read_all(answer, answer_bytes);
		if (!ok)
			close_link();
	}
	rt_unlock(&lock);
	errno = saved;
	return ok;
}

bool link_send_file(enum live_type type, int descriptor)
{
	int saved = errno;
	bool ok;

	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	ok = connect_once() && send_descriptor(type, descriptor);
	rt_unlock(&lock);
	errno = saved;
	return ok;
}

uint32_t link_ask_function(uintptr_t function, uintptr_t call_place, char kind, bool start,
			   bool *hands_on_here)
{
	struct live_ask q = {.pc = function, .call = call_place, .kind = kind, .start = start};
	struct live_answer a = {0};

	if (!link_send(LIVE_ASK, &(struct link_part){&q, sizeof q}, 1, &a, sizeof a)) {
		if (hands_on_here)
			*hands_on_here = false;
		/* Without a reporter every block counts as suspected. */
		return block_default(kind, start) | BLOCK_SUSPECTED;
	}
	if (hands_on_here)
		*hands_on_here = a.hands_on;
	return a.decide &
	       (BLOCK_ATOMIC | BLOCK_BY_RULE | BLOCK_HANDS_ON | BLOCK_SUSPECTED | BLOCK_OUTLINED);
}

/* Receive the answers to UNRULED, under the lock. */
static struct live_unruled *receive_unruled(size_t *n)
{
	struct live_head head;
	struct live_unruled *v;

	if (!read_all(&head, sizeof head) || head.type != LIVE_ANSWERS || head.bytes % sizeof *v) {
		close_link();
		return NULL;
	}
	*n = head.bytes / sizeof *v;
	v = *n ? rt_pages(head.bytes) : NULL;
	if (*n && (!v || !read_all(v, head.bytes))) {
		rt_pages_free(v, head.bytes);
		close_link();
		return NULL;
	}
	return v;
}

const struct live_unruled *link_ask_unruled(size_t *n)
{
	struct live_unruled *v = NULL;
	int saved = errno;

	*n = 0;
	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	if (connect_once() && send_parts(LIVE_UNRULED, NULL, 0))
		v = receive_unruled(n);
	rt_unlock(&lock);
	errno = saved;
	if (!v)
		*n = 0;
	return v;
}

uint32_t link_ask_label(uint32_t number, const char *text, size_t n, uintptr_t call_place)
{
	struct live_ask q = {.pc = number, .call = call_place, .kind = BLOCK_MARKED};
	const struct link_part parts[] = {{&q, sizeof q}, {text, n}};
	struct live_answer a = {0};

	if (!link_send(LIVE_ASK, parts, 2, &a, sizeof a))
		return BLOCK_ATOMIC;
	return a.decide & (BLOCK_ATOMIC | BLOCK_BY_RULE | BLOCK_HANDS_ON);
}

void link_module(uint64_t bias, const char *text, size_t n)
{
	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	send_module(bias, text, n, NULL);
	rt_unlock(&lock);
}

void link_child(void)
{
	lock = 0;
	check_socket();
	close_link();
	tried = started = lost = false;
}
