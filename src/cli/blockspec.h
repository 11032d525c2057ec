/*
 * The option --spec, and what there is to say about blocks that are left out:
 * for all commands that read a trace.
 *
 * Who may include this: commands.
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
		"which functions of a recorded run are meant to be atomic")

/* The specification itself; NULL with a sentence where the file is none. It stays ours. */
struct spec *blockspec_read(struct err *err);

/* trace_open() with the blocks as --spec wants them; trace_close() closes it. */
struct reader *blockspec_open(const char *path, const struct reader_options *options,
			      struct err *err);

/*
 * After the trace was read: that --spec was of no use for this trace, and with
 * `verbose` what was left out and why, and rules that matched nothing.
 */
void blockspec_tell(struct reader *r, FILE *out, const char *prefix, bool verbose);

#endif
