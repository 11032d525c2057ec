/*
 * A program that does what its arguments say, in order:
 *
 *	lose      loses an update in the block deposit(); a finding
 *	again     loses one in the block withdraw(); another finding
 *	drop      becomes the user 65534, as root
 *	sandbox   allows only harmless system calls from now on, and no new connection
 *	full      leaves no descriptor free
 *	seal      closes all descriptors above 2, then leaves none free
 *	ready     creates the file "ready", then waits until there is a file "go"
 *	child     does the rest in a forked child, and waits for it
 *	exec      starts itself again with the other arguments
 *
 * It prints each word when it has done it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance, other;

static int get(int *from)
{
	int v;

	pthread_mutex_lock(&m);
	v = *from;
	pthread_mutex_unlock(&m);
	return v;
}

static void set(int *to, int v)
{
	pthread_mutex_lock(&m);
	*to = v;
	pthread_mutex_unlock(&m);
}

BLOCK void deposit(void)
{
	int v = get(&balance);

	window_hold_for(1, 0);
	set(&balance, v + 1);
}

BLOCK void withdraw(void)
{
	int v = get(&other);

	window_hold_for(2, 0);
	set(&other, v - 1);
}

static void *first(void *arg)
{
	if (arg)
		withdraw();
	else
		deposit();
	return arg;
}

static void *second(void *arg)
{
	window_enter(arg ? 2 : 1);
	set(arg ? &other : &balance, 5);
	window_leave(arg ? 2 : 1);
	return arg;
}

static void run_both(void *arg)
{
	pthread_t t1, t2;

	if (pthread_create(&t1, NULL, first, arg) || pthread_create(&t2, NULL, second, arg))
		_exit(98);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
}

static int drop_rights(void)
{
	return setgroups(0, NULL) || setgid(65534) || setuid(65534);
}

/* New sockets, connections, processes and files fail; what names a process or a message kills. */
static int enter_sandbox(void)
{
#define WHEN(name, what)                                                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		WHEN(socket, SECCOMP_RET_ERRNO | EPERM),
		WHEN(socketpair, SECCOMP_RET_ERRNO | EPERM),
		WHEN(connect, SECCOMP_RET_KILL_PROCESS),
		WHEN(sendto, SECCOMP_RET_KILL_PROCESS),
		WHEN(recvfrom, SECCOMP_RET_KILL_PROCESS),
		WHEN(sendmsg, SECCOMP_RET_KILL_PROCESS),
		WHEN(execve, SECCOMP_RET_ERRNO | EPERM),
		WHEN(fstat, SECCOMP_RET_ERRNO | EACCES),
		WHEN(openat, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int fill_files(void)
{
	struct rlimit limit = {64, 64};

	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	return errno != EMFILE;
}

static int close_files(void)
{
	for (int i = 3; i < 1100; i++)
		close(i);
	return fill_files();
}

static int wait_for_go(void)
{
	int fd = open("ready", O_WRONLY | O_CREAT, 0666);

	if (fd < 0 || close(fd))
		return 1;
	for (int i = 0; i < 3000 && access("go", F_OK); i++)
		usleep(10000);
	return access("go", F_OK);
}

static int go_on_in_child(void)
{
	pid_t child = fork();
	int status = 0;

	if (child <= 0)
		return child < 0;
	if (waitpid(child, &status, 0) != child)
		return 1;
	printf("child %d\n", status);
	exit(0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		int rc = 0;

		if (!strcmp(word, "lose"))
			run_both(NULL);
		else if (!strcmp(word, "again"))
			run_both(&other);
		else if (!strcmp(word, "drop"))
			rc = drop_rights();
		else if (!strcmp(word, "sandbox"))
			rc = enter_sandbox();
		else if (!strcmp(word, "full"))
			rc = fill_files();
		else if (!strcmp(word, "seal"))
			rc = close_files();
		else if (!strcmp(word, "ready"))
			rc = wait_for_go();
		else if (!strcmp(word, "child"))
			rc = go_on_in_child();
		else if (!strcmp(word, "exec"))
			rc = execv(argv[0], argv + i);
		else
			continue; /* argv[0] of a program that started itself */
		if (rc) {
			perror(word);
			return 97;
		}
		printf("%s\n", word);
		fflush(stdout);
	}
	return 0;
}
