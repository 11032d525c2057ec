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

#include "base/banned.h"

/* Where the program `atomsan` is: the wrapper links it in. */
extern const char atomsan_home[] __attribute__((weak));

static int fd = -1;
static dev_t device; /* what is behind it: the program may close any number, and use it again */
static ino_t inode;
static bool tried, started, lost;
static uint32_t lock;

/* All of it, or false. What errno was is kept by link_send(). */
static bool transfer(bool out, void *data, size_t n)
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
	return transfer(true, (void *)(uintptr_t)data, n);
}

static bool read_all(void *data, size_t n)
{
	return transfer(false, data, n);
}

static void gone(void)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
	fd = -1;
}

/* The program likes the low numbers. */
static void use(int low)
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

/* Is it still what it was? Else a connection is to be made again. */
static void look_again(void)
{
	struct stat st;

	if (fd < 0 || (!syscall(SYS_fstat, fd, &st) && st.st_dev == device && st.st_ino == inode))
		return;
	fd = -1;
	tried = false;
	lost = true;
}

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
	use(s);
	return true;
}

/* --- a reporter of our own --- */

enum { STACK = 1 << 14 };
struct start {
	const char *path;
	int ours, theirs;
	sigset_t mask;
	char *stack; /* for one more */
};

/* It holds nothing open that the program has: somebody may wait for the end of a pipe. */
static void close_others(void)
{
	if (!syscall(SYS_close_range, 3, ~0u, 0))
		return;
	for (int i = 3; i < 4096; i++)
		syscall(SYS_close, i);
}

/*
 * In a child that borrows our memory until it becomes another program. It
 * belongs to no process group of the terminal: who interrupts the program wants
 * to see what was found.
 */
static int grandchild(void *arg)
{
	const struct start *s = arg;
	char *const argv[] = {(char *)"atomsan", (char *)"live", NULL};
	extern char **environ;

	syscall(SYS_setpgid, 0, 0);
	syscall(SYS_dup2, s->theirs, 0);
	if (syscall(SYS_dup2, 2, 1) < 0)
		syscall(SYS_close, 1);
	close_others();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s->mask, NULL, _NSIG / 8);
	syscall(SYS_execve, s->path, argv, environ);
	syscall(SYS_exit, 127);
	return 0;
}

/* A program that was executed is a child like others, and wait() would find it: it is not ours. */
static int child(void *arg)
{
	const struct start *s = arg;

	return clone(grandchild, s->stack, CLONE_VM | CLONE_VFORK, arg) < 0;
}

/* A number that the reporter's standard input, output and error do not have, whoever closed his. */
static int above_standard(int low)
{
	int up = low > 2 ? low : (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 3);

	if (up != low)
		syscall(SYS_close, low);
	return up;
}

static bool start_one(void)
{
	static char stack[2][STACK] __attribute__((aligned(16)));
	const char *home = atomsan_home;
	static char path[4096]; /* with the lock held: threads may have little stack */
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
	s.ours = above_standard(pair[0]);
	s.theirs = above_standard(pair[1]);
	if (s.ours < 0 || s.theirs < 0) {
		syscall(SYS_close, s.ours);
		syscall(SYS_close, s.theirs);
		return false;
	}
	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &s.mask, _NSIG / 8);
	/* No signal at its end, and wait() does not see it: the program knows nothing of it. */
	pid = clone(child, stack[0] + sizeof stack, CLONE_VM | CLONE_VFORK, &s);
	if (pid >= 0)
		while (syscall(SYS_wait4, pid, &status, __WALL, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s.mask, NULL, _NSIG / 8);
	syscall(SYS_close, s.theirs);
	if (pid < 0 || status) {
		syscall(SYS_close, s.ours);
		return false;
	}
	use(s.ours);
	return true;
}

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
		gone();
	return ok;
}

static void say_module(uint64_t bias, const char *text, size_t n, void *arg)
{
	const struct link_part parts[] = {{&bias, sizeof bias}, {text, n}};

	(void)arg;
	if (fd >= 0)
		send_parts(LIVE_MODULE, parts, 2);
}

static void hello(void)
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
	modules_each(say_module, NULL);
}

static bool connected(void)
{
	if (tried)
		return fd >= 0;
	tried = true;
	started = *rt_options.reporter ? connect_to(rt_options.reporter) : start_one();
	if (started)
		hello();
	return fd >= 0;
}

bool link_is_up(void)
{
	return fd >= 0;
}

bool link_is_gone(void)
{
	return started && fd < 0;
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
	look_again();
	ok = connected() && send_parts(type, parts, n);
	if (ok && answer) {
		ok = read_all(&head, sizeof head) && head.bytes == answer_bytes &&
		     read_all(answer, answer_bytes);
		if (!ok)
			gone();
	}
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
		return (kind == 'f' && !start) | 8; /* then everything is worth a look */
	}
	if (hands_on_here)
		*hands_on_here = a.hands_on;
	return a.decide & 15;
}

uint32_t link_ask_label(uint32_t number, const char *text, size_t n, uintptr_t call_place)
{
	struct live_ask q = {.pc = number, .call = call_place, .kind = 'a'};
	const struct link_part parts[] = {{&q, sizeof q}, {text, n}};
	struct live_answer a = {0};

	return link_send(LIVE_ASK, parts, 2, &a, sizeof a) ? a.decide & 7 : 1;
}

void link_module(uint64_t bias, const char *text, size_t n)
{
	rt_lock_ranked(&lock, RT_REPORTER);
	look_again();
	say_module(bias, text, n, NULL);
	rt_unlock(&lock);
}

void link_child(void)
{
	lock = 0;
	look_again();
	gone();
	tried = started = lost = false;
}
