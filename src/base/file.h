/*
 * Writing a whole file so that nobody ever sees a part of it.
 */
#ifndef ATOMSAN_BASE_FILE_H
#define ATOMSAN_BASE_FILE_H

#include <stddef.h>

#include "base/err.h"

/*
 * Put these bytes into the file: under another name first, then in the place of
 * what is there. A link, a device or a pipe is written to as it is.
 */
int file_replace(const char *path, const char *bytes, size_t n, struct err *err);

#endif
