/*
 * A grid of cells, as wide as its text needs and at most SHOW_WIDTH columns of the
 * terminal. If it is too wide, text is cut in the widest columns first.
 *
 *	struct grid g = GRID_INIT(2);
 *	grid_column(&g, (struct grid_col){.min = 5, .right = true});
 *	grid_row(&g);
 *	grid_set(&g, 0, SHOW_PLAIN, "16");
 *	if (grid_fit(&g))
 *		grid_print(&g, out, color);
 *	grid_free(&g);
 *
 * Included by: report writers, commands.
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
	size_t min;        /* width below which it is never cut */
	bool right;        /* aligned right, as for numbers */
	bool stretch;      /* gets a little of the remaining room */
	enum show_cut cut; /* which end to drop */
	size_t width, at;  /* set by grid_fit() */
};

struct grid_cell {
	const char *text; /* safe; or NULL */
	const char *note; /* printed to the right of the text, across empty cells, if there is room
			     or the column can be widened; or NULL */
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
void grid_column(struct grid *g, struct grid_col col); /* before the first row */
void grid_row(struct grid *g);                         /* begin the next row */

/* Fill a cell of the last row. The text is made safe; NULL and "" leave the cell empty. */
void grid_set(struct grid *g, size_t col, enum show_style style, const char *text);
void grid_note(struct grid *g, size_t col, const char *note);

/* Compute the widths. False if the grid cannot fit; then it must not be printed. */
bool grid_fit(struct grid *g);
void grid_print(const struct grid *g, FILE *out, bool color);

#endif
