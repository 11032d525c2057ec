#include "runtime/link/reporter_link.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/link/modules.h"
#include "runtime/link/socket.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"
#include "trace/block_policy.h"

#include "base/banned.h"

/* The folder of the program `atomsan`; the compiler wrapper links it into the program. */
extern const char atomsan_home[] __attribute__((weak));

static bool tried;   /* to connect */
static bool started; /* a connection was made */
static bool lost;    /* the program closed it */
static bool told;    /* the reporter knows that the check is incomplete, and why */
static uint32_t lock;

/*
 * Shared by the reporter, a process and those that it forks, because a process that cannot reach
 * the reporter cannot say so. NULL: there is no supervisor, or no memory.
 */
static struct live_family *family;

/* If the program closed the socket, forget it, so that the next message makes a new connection. */
static void check_socket(void)
{
	bool was_open = socket_is_open();

	socket_check();
	if (!was_open || socket_is_open())
		return;
	tried = told = false;
	lost = true;
}

/* --- a reporter of our own --- */

enum { STACK = 1 << 14 };
struct start {
	const char *path;
	int ours, theirs;
	sigset_t mask;
	char *stack; /* for the grandchild */
	int pid;     /* of the grandchild, which sets it */
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
	struct start *s = arg;

	s->pid = clone(exec_reporter, s->stack, CLONE_VM | CLONE_VFORK, arg);
	return s->pid < 0;
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
	socket_use(s.ours, s.pid);
	return true;
}

/* Send one message. Closes the connection if that fails. */
static bool send_parts(enum live_type type, const struct link_part *parts, size_t n)
{
	struct live_head head = {.type = type};
	bool ok;

	for (size_t i = 0; i < n; i++)
		head.bytes += (uint32_t)parts[i].bytes;
	ok = socket_write(&head, sizeof head);
	for (size_t i = 0; ok && i < n; i++)
		ok = socket_write(parts[i].data, parts[i].bytes);
	return ok;
}

/* If the check is incomplete, say so before anything else: the program may be killed soon. */
static void send_incomplete(void)
{
	const char *why = rt_incomplete_reason();

	if (!why || told || !socket_is_open())
		return;
	told = true;
	send_parts(LIVE_INCOMPLETE, &(struct link_part){why, strlen(why)}, 1);
}

/* Give up a reporter that is stopped, but leave it a message in case it goes on. */
static void leave_stopped(void)
{
	static const char why[] = "it stopped answering, and the program went on without it";
	struct {
		struct live_head head;
		char text[sizeof why - 1];
	} last = {.head = {LIVE_INCOMPLETE, sizeof last.text}};

	if (socket_state() != SOCKET_STOPPED)
		return;
	memcpy(last.text, why, sizeof last.text);
	socket_write_last(&last, sizeof last);
}

/* Wait for the answer to a message of this type. */
static bool receive_answer(enum live_type type, void *answer, size_t bytes)
{
	struct live_head head;

	if (socket_read(&head, sizeof head)) {
		if (head.bytes == bytes)
			return socket_read(answer, bytes);
		socket_close(SOCKET_DEAD);
	}
	/* If END was sent, it knows everything. */
	if (type != LIVE_END)
		leave_stopped();
	else if (socket_state() == SOCKET_STOPPED)
		socket_close(SOCKET_STOPPED);
	return false;
}

static void send_module(uint64_t bias, const char *text, size_t n, void *arg)
{
	const struct link_part parts[] = {{&bias, sizeof bias}, {text, n}};

	(void)arg;
	if (socket_is_open())
		send_parts(LIVE_MODULE, parts, 2);
}

/* The first messages: options, command line, all modules. */
static void send_hello(void)
{
	struct live_hello h = {.version = LIVE_VERSION, .pid = (uint32_t)getpid()};
	const char *token = strchr(rt_options.reporter, '#');
	static char text[sizeof rt_options + 1024];
	size_t n = rt_options_format(text, sizeof text - 1), m;
	static char command[4096];
	int f = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	long got = f >= 0 ? syscall(SYS_read, f, command, sizeof command - 1) : 0;
	struct link_part parts[] = {{&h, sizeof h}, {text, n + 1}, {command, 0}};

	for (size_t i = 0; token && i < sizeof h.token && token[1 + i]; i++)
		h.token[i] = token[1 + i];
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

/* Connect to the supervisor. If that fails, the user must not take silence for an answer. */
static bool connect_to_supervisor(void)
{
	const char *name = rt_options.reporter;

	if (socket_connect(name, strcspn(name, "#")))
		return true;
	if (family)
		__atomic_fetch_add(&family->unreported, 1, __ATOMIC_RELAXED);
	/* If it has ended, no report is expected either. */
	if (errno != ECONNREFUSED)
		rt_say("process %d cannot reach the reporter: %s; what it finds is printed here, "
		       "and is not in the report",
		       getpid(), strerrordesc_np(errno));
	return false;
}

/* Connect, unless that was tried before. Returns whether there is a connection. */
static bool connect_once(void)
{
	RT_ASSERT(lock);
	if (tried)
		return socket_is_open();
	tried = true;
	/* Its environment, and perhaps its folder, belong to the program's user. */
	if (rt_is_privileged)
		return false;
	started = *rt_options.reporter ? connect_to_supervisor() : start_reporter();
	if (started)
		send_hello();
	return socket_is_open();
}

bool link_is_up(void)
{
	return socket_is_open();
}

bool link_was_cut(void)
{
	return socket_state() == SOCKET_DEAD || socket_state() == SOCKET_STOPPED;
}

const char *link_why_none(void)
{
	if (rt_is_privileged)
		return "the program has privileges that its user may lack";
	switch (socket_state()) {
	case SOCKET_DEAD:
		return "the program 'atomsan' was started, and has ended";
	case SOCKET_STOPPED:
		return "the program 'atomsan' was started, and is stopped";
	default:
		return *rt_options.reporter ? "the program 'atomsan' cannot be reached"
					    : "the program 'atomsan' cannot be started";
	}
}

bool link_was_lost(void)
{
	return lost;
}

/* Map the family's page. Returns the descriptor of its file, or -1. */
static int make_family(void)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	int file = -1;
	void *page;

	/* If files may not be that large, growing one is a fatal signal. */
	if (!syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) &&
	    limit.rlim_cur >= sizeof *family)
		file = (int)syscall(SYS_memfd_create, "atomsan", MFD_CLOEXEC);
	if (file >= 0 && syscall(SYS_ftruncate, file, sizeof *family)) {
		syscall(SYS_close, file);
		file = -1;
	}
	if (file < 0)
		return -1;
	page = (void *)syscall(SYS_mmap, NULL, sizeof *family, PROT_READ | PROT_WRITE, MAP_SHARED,
			       file, 0);
	family = page == MAP_FAILED ? NULL : page;
	return file;
}

void link_begin(void)
{
	struct live_head head = {.type = LIVE_FAMILY};
	int file;

	if (!*rt_options.reporter || rt_is_privileged)
		return;
	file = make_family();
	rt_lock_ranked(&lock, RT_REPORTER);
	if (connect_once() && file >= 0)
		socket_write_descriptor(&head, sizeof head, file);
	rt_unlock(&lock);
	if (file >= 0)
		syscall(SYS_close, file);
}

void link_end(void)
{
	int saved = errno;

	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	if (rt_incomplete_reason() && !told && (*rt_options.reporter || socket_is_open()) &&
	    connect_once())
		send_incomplete();
	rt_unlock(&lock);
	errno = saved;
}

bool link_has_rules(void)
{
	return rt_options.rules;
}

bool link_send(enum live_type type, const struct link_part *parts, size_t n, void *answer,
	       size_t answer_bytes)
{
	int saved = errno;
	bool ok;

	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	ok = connect_once();
	send_incomplete();
	ok = ok && socket_is_open() && send_parts(type, parts, n) &&
	     (!answer || receive_answer(type, answer, answer_bytes));
	rt_unlock(&lock);
	errno = saved;
	return ok;
}

bool link_send_file(enum live_type type, int descriptor)
{
	struct live_head head = {.type = type};
	int saved = errno;
	bool ok;

	rt_lock_ranked(&lock, RT_REPORTER);
	check_socket();
	ok = connect_once() && socket_write_descriptor(&head, sizeof head, descriptor);
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

	if (!socket_read(&head, sizeof head)) {
		leave_stopped();
		return NULL;
	}
	if (head.type != LIVE_ANSWERS || head.bytes % sizeof *v) {
		socket_close(SOCKET_DEAD);
		return NULL;
	}
	*n = head.bytes / sizeof *v;
	v = *n ? rt_pages(head.bytes) : NULL;
	if (*n && (!v || !socket_read(v, head.bytes))) {
		rt_pages_free(v, head.bytes);
		socket_close(SOCKET_DEAD);
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
	if (connect_once() && socket_is_open() && send_parts(LIVE_UNRULED, NULL, 0))
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
	socket_close(SOCKET_NONE);
	tried = started = lost = told = false;
}
