/*
 * Where a finding is, as file, line and column, for forms that tools read: of a
 * recorded run the line in the program's own source (stack.h), else a place
 * that is written so ("bank.c:14" or "bank.c:14:3").
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_WHERE_H
#define ATOMSAN_REPORT_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "engine/finding.h"

struct where {
	struct str file;       /* as the trace has it; empty: not known */
	uint32_t line, column; /* 0: not known */
};
/* clang-format off */
#define WHERE_INIT { .file = STR_INIT }
/* clang-format on */
void where_free(struct where *w);

/* Each sets it anew and returns whether it is known. */
bool where_of_frame(struct where *w, const struct finding_frame *frame);
bool where_of_step(struct where *w, const struct finding_step *s);
bool where_of_place(struct where *w, const char *place); /* may be NULL */
/* Of a finding: its last step that has one; else its block. */
bool where_of_finding(struct where *w, const struct finding *f);

/*
 * What file names are relative to, for who reads the report on another machine: the
 * repository that the current directory is in, else that directory. No '/' at its end
 * but for the root's own.
 */
void where_add_root(struct str *b);

/* The file as seen from there; false (and its full path) where it is not below. */
bool where_add_from_root(struct str *b, const char *file);
/* The file as seen from the current directory where it is below, else its full path. */
void where_add_from_here(struct str *b, const char *file);

#endif
