/*
 * The option --spec, and notes on blocks that are left out, for all commands that read a trace.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_BLOCKSPEC_H
#define ATOMSAN_CLI_BLOCKSPEC_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "spec/spec.h"
#include "trace/reader.h"

extern const char *blockspec_file; /* --spec, or NULL */
#define BLOCKSPEC_OPT                                                                              \
	OPT_STR(0, "spec", "FILE", &blockspec_file,                                                \
		"which blocks of a recorded run are meant to be atomic")

/*
 * Returns the specification, which this module owns; NULL, with a sentence in `err`, if the file is
 * not one.
 */
struct spec *blockspec_read(struct err *err);

/* Like trace_open(), with the blocks that --spec says. trace_close() closes it. */
struct reader *blockspec_open(const char *path, const struct reader_options *options,
			      struct err *err);

/*
 * After the trace was read: prints a note if --spec changes nothing for this trace; with `verbose`,
 * also what was left out and why, and the rules that matched nothing.
 */
void blockspec_print(struct reader *r, FILE *out, const char *prefix, bool verbose);

#endif
