/*
 * Whole files: reading one, and writing one so that no other process ever sees a part of it.
 */
#ifndef ATOMSAN_BASE_FILE_H
#define ATOMSAN_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

/* The largest file that file_read() takes. */
#define FILE_BYTES_MAX (1ull << 30)

/* Append the contents of a file to `text`. A file larger than FILE_BYTES_MAX is an error. */
int file_read(const char *path, struct str *text, struct err *err);
/* The same for a file that is open already; messages call it `name`. */
int file_read_open(FILE *in, const char *name, struct str *text, struct err *err);

/*
 * Append the name of a new file or folder among the user's temporary ones, with the "XXXXXX" that
 * mkstemp() and mkdtemp() replace.
 */
void file_add_temporary(struct str *path);

/* Replace the contents of a file, as output_file.h describes it. */
int file_replace(const char *path, const char *bytes, size_t n, struct err *err);

#endif
