/*
 * The command line: a table of commands (main.c), one file a command.
 *
 * To add one: a file cmd_NAME.c that defines `const struct command`, a row in
 * main.c, a man page docs/man/atomsan-NAME.1.scd, a golden test.
 *
 * Exit codes are EXIT_*; messages go to standard error through cli_error() and
 * note(), results to standard output.
 */
#ifndef ATOMSAN_CLI_CLI_H
#define ATOMSAN_CLI_CLI_H

#include <stdbool.h>

#include "base/err.h"
#include "base/note.h"
#include "base/opt.h"

enum { EXIT_NOTHING_FOUND = 0, EXIT_FINDINGS = 1, EXIT_BAD = 2 };

struct command {
	const char *name;
	const char *synopsis; /* what follows the name: "[options] TRACE" */
	const char *summary;  /* one line of the command list */
	const struct opt *opts;
	bool raw;      /* every word goes to run(), options and --help too */
	bool internal; /* not for people: no list has it */
	/* argv holds the words left after the options; returns the exit code. */
	int (*run)(int argc, char **argv);
};

extern const struct command *const commands[]; /* ends with NULL */

/* "atomsan: ..." on standard error; returns EXIT_BAD. */
int cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "atomsan CMD: ..." and how to get help; returns EXIT_BAD. */
int cli_usage(const struct command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Are they one file, so that writing `out` would destroy `in`? "-" is standard input and output. */
bool cli_same_file(const char *in, const char *out);

#endif
