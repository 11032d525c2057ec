/*
 * measure SECONDS OUTPUT COMMAND ARGS...: run COMMAND with its standard output in the file OUTPUT,
 * and print four numbers:
 *
 *  - wall-clock time from before the fork to after the wait, in microseconds;
 *  - peak resident memory in KiB;
 *  - the exit status: 128 plus the signal if a signal ended COMMAND, 124 if it ran for longer than
 *    SECONDS;
 *  - processor time in microseconds.
 *
 * COMMAND runs without address randomisation: with many random bits, older versions of
 * ThreadSanitizer do not start.
 *
 * /usr/bin/time would do, but a fresh Debian does not have it, and it measures only hundredths of a
 * second.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
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

static void run(const char *output, char **argv)
{
	int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0) {
		fprintf(stderr, "measure: %s: %s\n", output, strerror(errno));
		_exit(127);
	}
	dup2(fd, STDOUT_FILENO);
	personality(ADDR_NO_RANDOMIZE);
	execvp(argv[0], argv);
	fprintf(stderr, "measure: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int64_t processor_time(const struct rusage *u)
{
	return (int64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 + u->ru_utime.tv_usec +
	       u->ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int64_t start, took;
	int status, code;

	if (argc < 4) {
		fprintf(stderr, "usage: measure SECONDS OUTPUT COMMAND ARGS...\n");
		return 2;
	}
	start = microseconds();
	child = fork();
	if (child == 0)
		run(argv[2], argv + 3);
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
	printf("%lld %ld %d %lld\n", (long long)took, usage.ru_maxrss, late ? 124 : code,
	       (long long)processor_time(&usage));
	return 0;
}
