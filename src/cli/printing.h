/*
 * The options --format, -o, --color, -q and -v, and the printing of reports, for all commands that
 * print findings.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_PRINTING_H
#define ATOMSAN_CLI_PRINTING_H

#include "cli/cli.h"
#include "report/report.h"

/* Returns the format of this name (NULL: text); or NULL, after a message that there is none. */
const struct report_format *printing_format(const struct command *cmd, const char *name);

/* The help text of --format. */
#define PRINTING_FORMATS "text (the default), json, html, sarif, gcc, github, junit or dot"

/* For commands that print once, at the end. */
struct printing_options {
	const char *format, *output, *color; /* NULL: the default */
	int quiet, verbose;
};
extern struct printing_options printing_asked;

/* Rows of a table of options. */
/* clang-format off */
#define PRINTING_OPTIONS                                                                           \
	OPT_STR('o', "output", "FILE", &printing_asked.output, "write the findings to FILE"),        \
	PRINTING_OPTIONS_HOW
/* The same for commands whose -o means something else: they print to standard output. */
#define PRINTING_OPTIONS_HOW                                                                       \
	OPT_STR('f', "format", "FORMAT", &printing_asked.format, PRINTING_FORMATS),                \
	OPT_STR(0, "color", "WHEN", &printing_asked.color, "auto (the default), always or never"), \
	OPT_COUNT('q', "quiet", &printing_asked.quiet, "one line per finding"),                      \
	OPT_COUNT('v', "verbose", &printing_asked.verbose,                                         \
		  "leave nothing out; print the engine's figures, too")
/* clang-format on */

/*
 * Call this before any work: it checks the options, and sets the report's colour and verbosity.
 * `in` is the file that will be read, which must not be overwritten. Returns 0 or the exit code.
 */
int printing_prepare(const struct command *cmd, const char *in, struct report *rep,
		     const struct report_format **format);

/* Returns 0 or the exit code. */
int printing_report(const struct report *rep, const struct report_format *format);

#endif
