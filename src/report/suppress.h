/*
 * Suppressions: patterns for findings that the user does not want to see.
 *
 * The file has ThreadSanitizer's form, one suppression per line:
 *
 *	# comment
 *	atomicity:PATTERN
 *
 * The pattern is the rest of the line, without surrounding blanks. * matches any
 * text; ^ at the start and $ at the end anchor the pattern to the start and end of
 * a name; without them it may match anywhere in it. A finding is suppressed if the
 * pattern matches any of these names:
 *
 * - the labels of the blocks that it blames, refutes or is about;
 * - a function, file or module in the stacks of its steps;
 * - the place of a step without a stack;
 * - the variable or a lock that it is about.
 *
 * Suppressions hide findings and do not change what is checked; that is what a
 * specification does (spec/spec.h).
 */
#ifndef ATOMSAN_REPORT_SUPPRESS_H
#define ATOMSAN_REPORT_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "engine/finding.h"

struct suppress;

/* Read a file; suppress_free() releases it. NULL, with "file:line: what" in `err`, on failure. */
struct suppress *suppress_read(const char *path, struct err *err);
/* The same from memory; `path` is used in messages. */
struct suppress *suppress_parse(const char *path, const char *text, size_t n, struct err *err);
void suppress_free(struct suppress *s);
const char *suppress_path(const struct suppress *s);

/* Is the finding suppressed? Marks every line that matches as used. `s` may be NULL. */
bool suppress_matches(struct suppress *s, const struct finding *f);

/*
 * Iterate over the lines that have matched nothing so far. `*at` is the position, 0 at
 * first. Returns the number of the next line and sets `*line` to its text; 0 at the end.
 */
unsigned suppress_unused(const struct suppress *s, size_t *at, const char **line);
/* Print "unused suppression: FILE:LINE: TEXT" for each of them. `s` may be NULL. */
void suppress_print_unused(const struct suppress *s, FILE *out, const char *prefix);

/*
 * Add the line, without a newline, that suppresses this finding and others about the same block;
 * nothing if the finding has no name at all.
 */
void suppress_add_line(struct str *out, const struct finding *f);

/* Does the pattern match the name? Exported for tests. */
bool suppress_pattern(const char *pattern, const char *name);

#endif
