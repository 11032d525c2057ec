/*
 * The command line: a table of commands (main.c), and one file per command.
 *
 * To add one: a file cmd_NAME.c that defines a `const struct command`, a row in main.c, a man page
 * docs/man/atomsan-NAME.1.scd, a golden test.
 *
 * Exit codes are EXIT_*. Messages go to standard error through cli_error() and note(), results to
 * standard output.
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
	const char *summary;  /* its line in the list of commands */
	const struct opt *opts;
	bool raw;      /* run() gets every word, including options and --help */
	bool internal; /* not for users: in no list */
	/* argv has the words after the options. Returns the exit code. */
	int (*run)(int argc, char **argv);
};

extern const struct command *const commands[]; /* ends with NULL */

/* Prints "atomsan: ..." to standard error. Returns EXIT_BAD. */
int cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "atomsan CMD: ..." and how to get help. Returns EXIT_BAD. */
int cli_usage(const struct command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Are these the same file, so that writing `out` would destroy `in`? "-" is standard input or
 * output. */
bool cli_same_file(const char *in, const char *out);

#endif
