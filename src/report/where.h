/*
 * Source locations as file, line and column, for formats that tools read. In a
 * recorded run a step's location is the line in the program's own source
 * (stack.h). Otherwise it is parsed from a place like "bank.c:14" or "bank.c:14:3".
 *
 * Included by: report writers.
 */
#ifndef ATOMSAN_REPORT_WHERE_H
#define ATOMSAN_REPORT_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "engine/finding.h"

struct where {
	struct str file;       /* as in the trace; empty if unknown */
	uint32_t line, column; /* 0 if unknown */
};
/* clang-format off */
#define WHERE_INIT { .file = STR_INIT }
/* clang-format on */
void where_free(struct where *w);

/* Each of these overwrites `w` and returns whether the location is known. */
bool where_of_frame(struct where *w, const struct finding_frame *frame);
bool where_of_step(struct where *w, const struct finding_step *s);
bool where_of_place(struct where *w, const char *place); /* may be NULL */
/* The location of the last step that has one, else of the block. */
bool where_of_finding(struct where *w, const struct finding *f);

/*
 * Add the folder that file names are relative to in reports for other machines: the
 * repository that contains the current directory, else the current directory. It has no
 * '/' at its end unless it is "/".
 */
void where_add_root(struct str *b);

/* Add the file relative to that folder; if it is not below, add its full path and return false. */
bool where_add_from_root(struct str *b, const char *file);
/* Add the file relative to the current directory; if it is not below, add its full path. */
void where_add_from_here(struct str *b, const char *file);

#endif
