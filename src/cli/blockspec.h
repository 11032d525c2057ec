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
#include "engine/finding.h"
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
 * Drop findings that blame only functions which were left out later in the
 * run; returns how many. A function is known here as the report names it: two
 * of one name are one.
 */
size_t blockspec_drop(struct reader *r, struct finding_list *findings);

/* Functions, by the names that reports have for them. */
struct blockspec_names {
	char **v;
	size_t n, cap;
};
void blockspec_names_add(struct blockspec_names *names, const char *name); /* once */
void blockspec_names_free(struct blockspec_names *names);
/* Does it say nothing but that these functions, which are not meant to be atomic, are not? */
bool blockspec_blames_only(const struct finding *f, const struct blockspec_names *names);

/*
 * After the trace was read: that --spec was of no use for this trace, and with
 * `verbose` what was left out and why, and rules that matched nothing.
 */
void blockspec_tell(struct reader *r, FILE *out, const char *prefix, bool verbose);
void blockspec_tell_unused(FILE *out, const char *prefix); /* those rules alone */

#endif
