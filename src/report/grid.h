/*
 * A grid of cells with as many columns as are needed and at most SHOW_WIDTH of
 * the terminal's: names are cut in the widest columns first.
 *
 *	struct grid g = GRID_INIT(2);
 *	grid_column(&g, (struct grid_col){.min = 5, .right = true});
 *	grid_row(&g);
 *	grid_set(&g, 0, SHOW_PLAIN, "16");
 *	if (grid_fit(&g))
 *		grid_print(&g, out, color);
 *	grid_free(&g);
 *
 * Who may include this: report writers, commands.
 */
#ifndef ATOMSAN_REPORT_GRID_H
#define ATOMSAN_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "report/show.h"

enum { GRID_COLUMNS_MAX = 16, GRID_GAP = 2 };

struct grid_col {
	size_t min;        /* never cut below this */
	bool right;        /* flush right, as numbers are */
	bool stretch;      /* may take a little of what room is left */
	enum show_cut cut; /* which end goes */
	size_t width, at;  /* grid_fit() */
};

struct grid_cell {
	const char *text; /* safe; or NULL */
	const char *note; /* printed behind it, over empty cells, where there is room for it or the
			     column can be made wider; or NULL */
	enum show_style style;
};

struct grid {
	size_t indent;
	struct grid_col col[GRID_COLUMNS_MAX];
	size_t ncols;
	struct grid_cell *cell; /* row by row */
	size_t nrows, cap;
	struct arena arena;
};

/* clang-format off */
#define GRID_INIT(columns) { .indent = (columns) }
/* clang-format on */

void grid_free(struct grid *g);
void grid_column(struct grid *g, struct grid_col col); /* all of them before the first row */
void grid_row(struct grid *g);                         /* begin the next row */

/* Fill a cell of the last row. The text may be anything; NULL and "" leave it empty. */
void grid_set(struct grid *g, size_t col, enum show_style style, const char *text);
void grid_note(struct grid *g, size_t col, const char *note);

/* Find the widths; false where it cannot be done, then do not print. */
bool grid_fit(struct grid *g);
void grid_print(const struct grid *g, FILE *out, bool color);

#endif
