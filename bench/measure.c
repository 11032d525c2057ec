/*
 * measure SECONDS COMMAND ARGS...: run it, its output thrown away, and print
 * three numbers: microseconds of wall-clock time from before the fork to after
 * the wait, peak resident memory in KiB, and the exit status (128 and the
 * signal where one ended it, 124 where SECONDS were over).
 *
 * /usr/bin/time would do, but is not there on a fresh Debian, and its clock
 * ticks in hundredths.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static pid_t child;
static volatile sig_atomic_t late;

static void on_alarm(int sig)
{
	(void)sig;
	late = 1;
	kill(child, SIGKILL);
}

static int64_t microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void run(char **argv)
{
	int fd = open("/dev/null", O_WRONLY);

	if (fd >= 0)
		dup2(fd, STDOUT_FILENO);
	execvp(argv[0], argv);
	fprintf(stderr, "measure: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int64_t start, took;
	int status, code;

	if (argc < 3) {
		fprintf(stderr, "usage: measure SECONDS COMMAND ARGS...\n");
		return 2;
	}
	start = microseconds();
	child = fork();
	if (child == 0)
		run(argv + 2);
	if (child < 0) {
		perror("measure: fork");
		return 2;
	}
	signal(SIGALRM, on_alarm);
	alarm((unsigned)strtoul(argv[1], NULL, 10));
	while (wait4(child, &status, 0, &usage) < 0) {
		if (errno != EINTR) {
			perror("measure: wait4");
			return 2;
		}
	}
	took = microseconds() - start;
	alarm(0);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	printf("%lld %ld %d\n", (long long)took, usage.ru_maxrss, late ? 124 : code);
	return 0;
}
