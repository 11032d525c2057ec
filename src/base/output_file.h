/*
 * A file that is written by a command. Its bytes go to a new file in the same folder, which takes
 * its name only when all bytes are written: no other process ever sees a part of it, and if the
 *disk is full, the file that was there before stays as it is.
 *
 *	if (output_file_open(&f, path, err))
 *		...
 *	rc = output_file_write(&f, bytes, n, err);
 *	rc |= output_file_close(&f, !rc, err);
 *
 * The new file has an unpredictable name, did not exist before, and only its owner may read it.
 * When it takes its name it gets the permissions of the file that it replaces, or the usual ones.
 * A device or a pipe is written to directly; so is a file in a folder where no file can be created.
 * If `path` is a symbolic link, the file that it points to is replaced, because the user named the
 * link. output_file_open_own() is for names that the user did not choose: there a link itself is
 * replaced.
 *
 * Each function returns 0, or -1 with a sentence in `err`, which may hold an earlier one: the first
 * stays.
 */
#ifndef ATOMSAN_BASE_OUTPUT_FILE_H
#define ATOMSAN_BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct output_file {
	int fd;
	char *path; /* as it was given, for messages */
	char *to;   /* the name that the new file will have; NULL: `fd` is the file itself */
	char *part; /* the name that it has until then */
	unsigned mode;
};

int output_file_open(struct output_file *f, const char *path, struct err *err);
int output_file_open_own(struct output_file *f, const char *path, struct err *err);
int output_file_write(struct output_file *f, const void *bytes, size_t n, struct err *err);
/* Closes the file and frees what belongs to it. `keep`: it takes its name; otherwise it is removed.
 */
int output_file_close(struct output_file *f, bool keep, struct err *err);

/* Can such a file be written? Leaves no file. */
int output_file_try(const char *path, struct err *err);

/* Appends ".", and 16 hexadecimal digits that cannot be predicted. */
struct str;
void output_file_add_random(struct str *name);

#endif
