/*
 * Whole files: reading one, and writing one so that nobody ever sees a part of it.
 */
#ifndef ATOMSAN_BASE_FILE_H
#define ATOMSAN_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

/* Larger ones are nothing that is read as a whole. */
#define FILE_BYTES_MAX (1ull << 30)

/* Add all that is in the file; of more than FILE_BYTES_MAX it complains. */
int file_read(const char *path, struct str *text, struct err *err);
/* The same from what is open already, under a name for messages. */
int file_read_open(FILE *in, const char *name, struct str *text, struct err *err);

/*
 * Put these bytes into the file: under another name first, then in the place of
 * what is there. A link, a device or a pipe is written to as it is.
 */
int file_replace(const char *path, const char *bytes, size_t n, struct err *err);

#endif
