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

#include <stddef.h>

#include "base/err.h"

struct output {
	int fd;
	char *path;
	char *buf;  /* compressed bytes */
	void *zstd; /* NULL: not compressed */
};

/* "-" is standard output. */
int output_open(struct output *o, const char *path, struct err *err);
int output_write(struct output *o, const void *p, size_t n, struct err *err);
/* Flushes, closes and frees, even if it fails. */
int output_close(struct output *o, struct err *err);

#endif
