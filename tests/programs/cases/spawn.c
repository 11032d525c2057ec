/*
 * Other programs that are started in every possible way, and this program itself again:
 * the second process does not change the trace of the first.
 *
 * live: no, its children are checked as well
 * silent prints: vfork 3
 * silent prints: fork 4
 * silent prints: posix_spawn 5
 * silent prints: system 6
 * silent prints: popen seven
 * silent prints: itself 8
 */
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

extern char **environ;
static atomic_int x;

BLOCK void bump_badly(void)
{
	int v = atomic_load(&x);

	window_hold(1);
	atomic_store(&x, v + 1);
}

TWO_THREADS(bump_badly(), bump_badly())

static int status_of(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void *spawner(void *arg)
{
	char *shell[] = {"sh", "-c", "exit 5", NULL};
	char *self[] = {"itself", "again", NULL};
	char line[64] = "";
	FILE *pipe;
	pid_t pid;

	pid = vfork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
		_exit(99);
	}
	printf("vfork %d\n", status_of(pid));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execlp("sh", "sh", "-c", "exit 4", (char *)NULL);
		_exit(99);
	}
	printf("fork %d\n", status_of(pid));
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ))
		return NULL;
	printf("posix_spawn %d\n", status_of(pid));
	printf("system %d\n", WEXITSTATUS(system("exit 6")));
	pipe = popen("echo seven", "r");
	if (pipe && fgets(line, sizeof line, pipe))
		printf("popen %s", line);
	pclose(pipe);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, self, environ))
		return NULL;
	printf("itself %d\n", status_of(pid));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1 && strcmp(argv[1], "again") == 0) {
		run_two(first, second);
		return x + 7;
	}
	pthread_create(&t, NULL, spawner, NULL);
	pthread_join(t, NULL);
}
