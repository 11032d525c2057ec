/*
 * atomsan: the table of commands. To add one, see cli.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/describe.h"

#include "base/banned.h"

extern const struct command cmd_cc, cmd_cxx, cmd_run, cmd_explore, cmd_confirm, cmd_replay,
	cmd_record, cmd_check, cmd_predict, cmd_report, cmd_refine, cmd_spec, cmd_campaign,
	cmd_convert, cmd_stats, cmd_dump, cmd_gen, cmd_engines, cmd_live, cmd_as;

const struct command *const commands[] = {
	&cmd_cc,       &cmd_cxx,     &cmd_run,     &cmd_explore, &cmd_confirm, &cmd_replay,
	&cmd_record,   &cmd_check,   &cmd_predict, &cmd_report,  &cmd_refine,  &cmd_spec,
	&cmd_campaign, &cmd_convert, &cmd_stats,   &cmd_dump,    &cmd_gen,     &cmd_engines,
	&cmd_live,     &cmd_as,      NULL,
};

static const struct command *by_name(const char *name)
{
	for (int i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_message(const char *command, const char *fmt, va_list ap)
{
	note_line(command, fmt, ap);
}

int cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(NULL, fmt, ap);
	va_end(ap);
	return EXIT_BAD;
}

int cli_usage(const struct command *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(cmd->name, fmt, ap);
	va_end(ap);
	fprintf(stderr, "usage: atomsan %s%s%s (see 'atomsan help %s')\n", cmd->name,
		*cmd->synopsis ? " " : "", cmd->synopsis, cmd->name);
	return EXIT_BAD;
}

bool cli_same_file(const char *in, const char *out)
{
	struct stat x, y;

	return !(strcmp(in, "-") ? stat(in, &x) : fstat(0, &x)) &&
	       !(strcmp(out, "-") ? stat(out, &y) : fstat(1, &y)) && S_ISREG(x.st_mode) &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void print_overview(FILE *out)
{
	fprintf(out,
		"AtomSan %s: finds blocks that are meant to be atomic and are not.\n\n"
		"usage: atomsan COMMAND [options] ...\n\n",
		ATOMSAN_VERSION);
	for (int i = 0; commands[i]; i++)
		if (!commands[i]->internal)
			fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "  %-10s %s\n", "help", "describe a command");
	fprintf(out, "\nExit codes: 0 nothing found, 1 findings, 2 bad usage or input.\n");
}

static int print_help(const char *name)
{
	const struct command *cmd = by_name(name);

	if (!cmd)
		return cli_error("there is no command '%s' ('atomsan help' lists them)", name);
	printf("usage: atomsan %s%s%s\n\n%s\n", cmd->name, *cmd->synopsis ? " " : "", cmd->synopsis,
	       cmd->summary);
	if (cmd->opts->kind != OPT_KIND_END) {
		printf("\n");
		opt_print(cmd->opts, stdout);
	}
	return 0;
}

/* Is --help among the options (before "--")? */
static bool wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns the command that the program's name stands for: atomsan-cc is `atomsan cc`. The name by
 * which it was called decides or, if that was a link of another name, the name of its file.
 */
static const struct command *by_own_name(const char *called)
{
	static const char start[] = "atomsan-";
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	const char *names[] = {called ? base_name(called) : "", ""};

	if (n > 0) {
		path[n] = 0;
		names[1] = base_name(path);
	}
	for (int i = 0; i < 2; i++) {
		const struct command *cmd = strncmp(names[i], start, strlen(start))
						    ? NULL
						    : by_name(names[i] + strlen(start));

		if (cmd)
			return cmd;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct err err = {0};
	int words, rc;

	cmd = by_own_name(argc ? argv[0] : NULL);
	if (cmd && cmd->raw)
		return cmd->run(argc - 1, argv + 1);
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_BAD;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		printf("atomsan %s\n", ATOMSAN_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		if (argc > 2)
			return print_help(argv[2]);
		print_overview(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--describe")) {
		describe_all(stdout);
		return 0;
	}
	cmd = by_name(argv[1]);
	if (!cmd)
		return cli_error("there is no command '%s' ('atomsan help' lists them)", argv[1]);
	if (cmd->raw)
		return cmd->run(argc - 2, argv + 2);
	if (wants_help(argc - 2, argv + 2))
		return print_help(cmd->name);
	words = opt_parse(cmd->opts, argc - 2, argv + 2, &err);
	if (words < 0)
		return cli_usage(cmd, "%s", err.text);
	rc = cmd->run(words, argv + 2);
	/* Detects a full disk, or a reader that went away. */
	if ((fflush(stdout) || ferror(stdout)) && rc != EXIT_BAD)
		return cli_error("writing to standard output failed");
	return rc;
}
