/*
 * Text for a terminal: makes names safe, cuts them to a number of columns and
 * breaks sentences into lines.
 *
 * A name becomes safe by passing through show_add() once: then it is valid UTF-8
 * without control characters and without codes that change the writing direction.
 *
 * Included by: report writers, commands, the reporter, tests.
 */
#ifndef ATOMSAN_REPORT_SHOW_H
#define ATOMSAN_REPORT_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

enum { SHOW_WIDTH = 80 };

/* Which end of a name to drop if it is too long. A path is recognised by its tail. */
enum show_cut { SHOW_CUT_TAIL, SHOW_CUT_HEAD };

/* Add a name in at most `max` columns; ".." stands for what was dropped. */
void show_add(struct str *b, const char *s, size_t max, enum show_cut cut);

/* The width of safe text, in columns. */
size_t show_columns(const char *s);

/*
 * A space at which show_wrap() does not break the line: "(event" SHOW_TIE "%lu)".
 * No name contains it, because show_add() escapes it.
 */
#define SHOW_TIE "\001"

/*
 * Print safe text in lines of at most SHOW_WIDTH columns, the first indented by `indent`, the
 * others by `hang`. A path or C++ name that is longer than a line is not broken.
 */
void show_wrap(FILE *out, const char *s, size_t indent, size_t hang);

enum show_style { SHOW_PLAIN, SHOW_BOLD, SHOW_FAINT, SHOW_RED, SHOW_BOLD_RED, SHOW_GREEN };

/* The same with a style, indented by 0 and 4. */
void show_wrap_styled(FILE *out, const char *s, bool color, enum show_style style);

/* The terminal codes that start and end a style, or "" without colour. */
const char *show_on(bool color, enum show_style style);
const char *show_off(bool color, enum show_style style);

#endif
