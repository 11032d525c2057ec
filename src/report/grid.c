#include "report/grid.h"

#include <assert.h>
#include <stdint.h>

#include "base/banned.h"

/* Maximal extra width of a column that stretches. */
enum { STRETCH_MAX = 5 };

/* Space between a cell and its note. */
enum { NOTE_GAP = 2 };

void grid_free(struct grid *g)
{
	mem_free(g->cell);
	arena_free(&g->arena);
	*g = (struct grid)GRID_INIT(g->indent);
}

void grid_column(struct grid *g, struct grid_col col)
{
	assert(!g->nrows && g->ncols < GRID_COLUMNS_MAX);
	g->col[g->ncols++] = col;
}

void grid_row(struct grid *g)
{
	g->nrows++;
	MEM_GROW0(g->cell, g->cap, g->nrows * g->ncols);
}

static struct grid_cell *last_row_cell(struct grid *g, size_t col)
{
	assert(g->nrows && col < g->ncols);
	return &g->cell[(g->nrows - 1) * g->ncols + col];
}

void grid_set(struct grid *g, size_t col, enum show_style style, const char *text)
{
	struct str safe = STR_INIT;

	if (!text || !*text)
		return;
	show_add(&safe, text, SIZE_MAX, SHOW_CUT_TAIL);
	last_row_cell(g, col)->text = arena_strndup(&g->arena, safe.s, safe.n);
	last_row_cell(g, col)->style = style;
	str_free(&safe);
}

void grid_note(struct grid *g, size_t col, const char *note)
{
	last_row_cell(g, col)->note = arena_strdup(&g->arena, note);
}

static size_t total_width(const struct grid *g)
{
	size_t total = g->indent;

	for (size_t i = 0; i < g->ncols; i++)
		total += g->col[i].width + (i ? GRID_GAP : 0);
	return total;
}

/* The widest column that can still shrink, or NULL. */
static struct grid_col *widest_column(struct grid *g)
{
	struct grid_col *best = NULL;

	for (size_t i = 0; i < g->ncols; i++)
		if (g->col[i].width > g->col[i].min && (!best || g->col[i].width > best->width))
			best = &g->col[i];
	return best;
}

/* The width by which each column that stretches may grow. */
static size_t stretch_max(const struct grid *g)
{
	size_t n = 0, room = SHOW_WIDTH - total_width(g);

	for (size_t i = 0; i < g->ncols; i++)
		n += g->col[i].stretch;
	if (!n)
		return 0;
	return room / n < STRETCH_MAX ? room / n : STRETCH_MAX;
}

static void set_column_starts(struct grid *g)
{
	size_t at = g->indent;

	for (size_t i = 0; i < g->ncols; i++) {
		g->col[i].at = at;
		at += g->col[i].width + GRID_GAP;
	}
}

static void stretch_columns(struct grid *g, const size_t *width, size_t more)
{
	for (size_t i = 0; i < g->ncols; i++)
		g->col[i].width = width[i] + (g->col[i].stretch ? more : 0);
	set_column_starts(g);
}

/* The columns that a note lacks; SIZE_MAX if widening its column would not help. */
static size_t note_missing_width(const struct grid *g, const struct grid_cell *row, size_t col)
{
	const struct grid_col *c = &g->col[col];
	size_t columns = row[col].text ? show_columns(row[col].text) : 0, next = col + 1, end;

	while (next < g->ncols && !row[next].text)
		next++;
	end = c->at + (c->right || columns > c->width ? c->width : columns) + NOTE_GAP +
	      show_columns(row[col].note);
	if (next == g->ncols)
		return end > SHOW_WIDTH ? SIZE_MAX : 0;
	return end + GRID_GAP > g->col[next].at ? end + GRID_GAP - g->col[next].at : 0;
}

/* Widen columns by what their notes lack; false if there is no room. */
static bool widen_for_notes(struct grid *g)
{
	for (size_t i = 0; i < g->nrows * g->ncols; i++) {
		size_t col = i % g->ncols, lacks;

		if (!g->cell[i].note)
			continue;
		lacks = note_missing_width(g, &g->cell[i - col], col);
		if (lacks > SHOW_WIDTH - total_width(g))
			return false;
		g->col[col].width += lacks;
		set_column_starts(g);
	}
	return true;
}

bool grid_fit(struct grid *g)
{
	size_t width[GRID_COLUMNS_MAX], most;

	for (size_t i = 0; i < g->ncols; i++)
		g->col[i].width = 0;
	for (size_t i = 0; i < g->nrows * g->ncols; i++) {
		struct grid_col *col = &g->col[i % g->ncols];
		size_t columns = g->cell[i].text ? show_columns(g->cell[i].text) : 0;

		if (columns > col->width)
			col->width = columns;
	}
	while (total_width(g) > SHOW_WIDTH) {
		struct grid_col *col = widest_column(g);

		if (!col)
			return false;
		col->width--;
	}
	for (size_t i = 0; i < g->ncols; i++)
		width[i] = g->col[i].width;
	/* Stretch less to make room for notes. If there is never enough, leave out notes. */
	most = stretch_max(g);
	for (size_t more = most + 1; more-- > 0;) {
		stretch_columns(g, width, more);
		if (widen_for_notes(g))
			return true;
	}
	stretch_columns(g, width, most);
	return true;
}

static void print_row(const struct grid *g, const struct grid_cell *row, FILE *out, bool color)
{
	struct str text = STR_INIT;
	size_t at = 0; /* columns printed */

	for (size_t i = 0; i < g->ncols; i++) {
		const struct grid_col *col = &g->col[i];
		size_t columns, start = col->at;

		if (!row[i].text)
			continue;
		str_reset(&text);
		show_add(&text, row[i].text, col->width, col->cut);
		columns = show_columns(text.s);
		if (col->right)
			start += col->width - columns;
		fprintf(out, "%*s%s%s%s", (int)(start - at), "", show_on(color, row[i].style),
			text.s, show_off(color, row[i].style));
		at = start + columns;
		if (row[i].note && !note_missing_width(g, row, i)) {
			fprintf(out, "%*s%s", NOTE_GAP, "", row[i].note);
			at += NOTE_GAP + show_columns(row[i].note);
		}
	}
	putc('\n', out);
	str_free(&text);
}

void grid_print(const struct grid *g, FILE *out, bool color)
{
	for (size_t i = 0; i < g->nrows; i++)
		print_row(g, g->cell + i * g->ncols, out, color);
}
