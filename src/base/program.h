/*
 * Which file a program's name stands for.
 */
#ifndef ATOMSAN_BASE_PROGRAM_H
#define ATOMSAN_BASE_PROGRAM_H

#include <stdbool.h>

#include "base/str.h"

/* Is this the path of a regular file that the caller may execute? */
bool program_is_executable(const char *path);

/*
 * Find a program as execvp() does: a name with a slash is a path; any other name is looked up in
 * the folders of PATH. Paths for which `skip` returns true are passed over; it may be NULL. Puts
 * the path into `out`, replacing what it held; returns false if there is no such program.
 */
bool program_find(struct str *out, const char *name, bool (*skip)(void *arg, const char *path),
		  void *arg);

#endif
