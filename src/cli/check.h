/*
 * Checking a trace, for `check` and the commands that are short for a part of
 * it: they have a table of options of their own, which fills in check_asked.
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_CHECK_H
#define ATOMSAN_CLI_CHECK_H

#include <stdbool.h>

#include "cli/cli.h"

struct check_options {
	const char *engine, *format, *output, *color; /* NULL: the default */
	bool all, lenient, no_merge;
	int quiet, verbose;
};
extern struct check_options check_asked;

/* As a command's run(); `cmd` is the one that messages are to name. */
int check_run(const struct command *cmd, int argc, char **argv);

#endif
