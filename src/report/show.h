/*
 * Text for a terminal: names made harmless, cut to a number of columns,
 * sentences broken into lines.
 *
 * A name goes through show_add() once and is safe from then on: no control
 * character, no code that turns the direction of writing, valid UTF-8.
 *
 * Who may include this: report writers, commands.
 */
#ifndef ATOMSAN_REPORT_SHOW_H
#define ATOMSAN_REPORT_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

enum { SHOW_WIDTH = 80 };

/* Which end of a name that is too long goes: a path is known by its tail. */
enum show_cut { SHOW_CUT_TAIL, SHOW_CUT_HEAD };

/* Add a name; where it takes more than `max` columns, ".." stands for the rest. */
void show_add(struct str *b, const char *s, size_t max, enum show_cut cut);

/* How many columns safe text takes. */
size_t show_columns(const char *s);

/*
 * A space that show_wrap() does not break a line at, for sentences:
 * "(event" SHOW_TIE "%lu)". No name has it: show_add() would have escaped it.
 */
#define SHOW_TIE "\001"

/*
 * Print safe text as lines of SHOW_WIDTH, the first indented by `indent`, the others by `hang`.
 * A longer path, or name of C++, is not broken.
 */
void show_wrap(FILE *out, const char *s, size_t indent, size_t hang);

enum show_style { SHOW_PLAIN, SHOW_BOLD, SHOW_FAINT, SHOW_RED, SHOW_BOLD_RED, SHOW_GREEN };

/* The same for what stands at the margin and is wanted to be seen. */
void show_wrap_styled(FILE *out, const char *s, bool color, enum show_style style);

/* The terminal's codes, or "" without colour. */
const char *show_on(bool color, enum show_style style);
const char *show_off(bool color, enum show_style style);

#endif
