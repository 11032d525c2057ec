/*
 * The destination of a trace's bytes: a file or standard output. They are compressed
 * as one zstd frame if the name ends in ".zst".
 *
 * Each function returns 0, or -1 with a sentence in `err`.
 *
 * Included by: output.c, and writer_impl.h for the writers.
 */
#ifndef ATOMSAN_TRACE_OUTPUT_H
#define ATOMSAN_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/output_file.h"

struct output {
	struct output_file file;
	char *buf;  /* compressed bytes */
	void *zstd; /* NULL: not compressed */
};

/* "-" is standard output. `own`: the user did not choose this name (base/output_file.h). */
int output_open(struct output *o, const char *path, bool own, struct err *err);
int output_write(struct output *o, const void *p, size_t n, struct err *err);
/*
 * Closes and frees, even if it fails. `keep`: writes what is left first, and the file takes its
 * name; otherwise it is removed.
 */
int output_close(struct output *o, bool keep, struct err *err);

#endif
