#include "cli/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"

#include "base/banned.h"

extern char **environ;

static const char variable[] = "ATOMSAN_OPTIONS";
static pid_t program;

static void pass_on(int number)
{
	if (program > 0)
		kill(program, number);
}

static void catch_signals(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on};

	/* The terminal sends these to the program as well. */
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
}

int child_start(char **argv)
{
	return child_start_to(argv, -1);
}

void child_kill(int number)
{
	pass_on(number);
}

int child_start_to(char **argv, int output)
{
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	if (output >= 0) {
		posix_spawn_file_actions_adddup2(&actions, output, 1);
		posix_spawn_file_actions_adddup2(&actions, output, 2);
	}
	rc = posix_spawnp(&program, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc) {
		cli_error("%s: %s", argv[0], strerror(rc));
		return rc == ENOENT ? 127 : 126;
	}
	catch_signals();
	return 0;
}

pid_t child_pid(void)
{
	return program;
}

int child_descriptor(void)
{
	return (int)syscall(SYS_pidfd_open, program, 0);
}

bool child_has_ended(void)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

int child_wait(void)
{
	int status = 0;

	while (waitpid(program, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_add_option(const char *key, const char *value, struct err *err)
{
	const char *had = getenv(variable);
	char quote = strchr(value, '"') ? '\'' : '"';
	bool plain = !value[strcspn(value, "\"': ,")];
	struct str s = STR_INIT;

	if (strchr(value, quote) || strlen(value) > 4000)
		return err_fail(err, "%s: this name cannot be passed to the program", value);
	if (had && *had)
		str_fmt(&s, "%s:", had);
	if (plain)
		str_fmt(&s, "%s=%s", key, value);
	else
		str_fmt(&s, "%s=%c%s%c", key, quote, value, quote);
	setenv(variable, s.s, 1);
	str_free(&s);
	return 0;
}

char *child_option(const char *key)
{
	const char *p = getenv(variable);
	char *found = NULL;

	while (p && *p) {
		const char *value;
		size_t n = strcspn(p, "=:"), len;
		bool is_it = n == strlen(key) && !strncmp(p, key, n);

		if (!n || p[n] != '=') {
			p += n + (p[n] == ':');
			p += strspn(p, ":, ");
			continue;
		}
		value = p + n + 1;
		if (*value == '"' || *value == '\'') {
			const char *end = strchr(value + 1, *value);

			len = end ? (size_t)(end - value) - 1 : strlen(value + 1);
			p = end ? end + 1 : "";
			value++;
		} else {
			len = strcspn(value, ":");
			p = value + len;
		}
		p += strspn(p, ":, ");
		if (is_it) {
			mem_free(found);
			found = mem_strndup(value, len);
		}
	}
	return found;
}
