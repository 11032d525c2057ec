/*
 * Suppressions: findings that somebody has looked at and does not want to see.
 *
 * A file in ThreadSanitizer's form, one a line:
 *
 *	# comment
 *	atomicity:PATTERN
 *
 * The pattern is the rest of the line, without the blanks around it. * stands for
 * any text; ^ at its start and $ at its end tie it to the start and the end of the
 * name: without them it may stand anywhere in it. It is held against the labels of
 * the blocks that a finding blames, refutes or is about, every function, file
 * and module in the stacks of its steps, the places of steps that have no stack,
 * and the variable and locks that it is about. One match is enough.
 *
 * They hide findings and change nothing about what is checked: that is the
 * specification's business (spec/spec.h).
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

/* NULL, with "file:line: what" in `err`, where it is no file of suppressions. */
struct suppress *suppress_read(const char *path, struct err *err);
/* The same from memory; `path` is for messages. */
struct suppress *suppress_parse(const char *path, const char *text, size_t n, struct err *err);
void suppress_free(struct suppress *s);
const char *suppress_path(const struct suppress *s);

/* Is it suppressed? Every line that says so has been of use. `s` may be NULL. */
bool suppress_matches(struct suppress *s, const struct finding *f);

/*
 * The lines that matched nothing so far, from `*at` on (0 at first): the number of
 * the next one and its text, or 0 when there is no more.
 */
unsigned suppress_unused(const struct suppress *s, size_t *at, const char **line);
/* Print "unused suppression: FILE:LINE: TEXT" for each of them. `s` may be NULL. */
void suppress_print_unused(const struct suppress *s, FILE *out, const char *prefix);

/*
 * Add the line, without a newline, that suppresses this finding and others of the same block;
 * nothing where it has no name at all.
 */
void suppress_add_line(struct str *out, const struct finding *f);

/* Does the pattern match this name? For tests. */
bool suppress_pattern(const char *pattern, const char *name);

#endif
