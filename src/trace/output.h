/*
 * Bytes of a trace on their way out: a file or standard output, packed as one
 * zstd frame where the name ends in ".zst".
 *
 * Who may include this: the writers in this folder.
 */
#ifndef ATOMSAN_TRACE_OUTPUT_H
#define ATOMSAN_TRACE_OUTPUT_H

#include <stddef.h>

#include "base/err.h"

struct output {
	int fd;
	char *path;
	char *buf; /* packed bytes, where packed */
	void *zstd;
};

int output_open(struct output *o, const char *path, struct err *err);
int output_write(struct output *o, const void *p, size_t n, struct err *err);
/* Flush, close, free. */
int output_close(struct output *o, struct err *err);

#endif
