/*
 * The options of commands that print findings, and the printing: what `check`,
 * `predict` and `report` share.
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_PRINT_H
#define ATOMSAN_CLI_PRINT_H

#include "cli/cli.h"
#include "report/report.h"

struct print_options {
	const char *format, *output, *color; /* NULL: the default */
	int quiet, verbose;
};
extern struct print_options print_asked;

/* Rows of a table of options. */
/* clang-format off */
#define PRINT_OPTIONS                                                                              \
	OPT_STR('f', "format", "FORMAT", &print_asked.format,                                      \
		"text (the default), json, html, sarif, gcc, github, junit or dot"),               \
	OPT_STR('o', "output", "FILE", &print_asked.output, "write the findings there"),           \
	OPT_STR(0, "color", "WHEN", &print_asked.color, "auto (the default), always or never"),    \
	OPT_COUNT('q', "quiet", &print_asked.quiet, "one line a finding"),                         \
	OPT_COUNT('v', "verbose", &print_asked.verbose,                                            \
		  "leave nothing out; the engine's figures too")
/* clang-format on */

/*
 * Before any work: look at the options, set the report's colour and verbosity. `in` is
 * what will be read, so that it is not written over. Returns 0 or the exit code.
 */
int print_prepare(const struct command *cmd, const char *in, struct report *rep,
		  const struct report_format **format);

/* Returns 0 or the exit code. */
int print_report(const struct report *rep, const struct report_format *format);

#endif
