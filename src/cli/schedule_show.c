#include <inttypes.h>

#include "base/mem.h"
#include "cli/event_text.h"
#include "cli/schedule.h"
#include "report/grid.h"
#include "report/show.h"

#include "base/banned.h"

/* How many events are shown at each end of a long run of one thread's events. */
enum { ENDS = 8 };

enum { COL_EVENT, COL_THREADS };

/* There is a column for each thread; or, if that is too wide, one column that names the thread. */
struct page {
	const struct schedule *s;
	const struct names *names;
	uint32_t thread[GRID_COLUMNS_MAX]; /* in the order of their first events */
	size_t nthreads;
	bool wide, all;
	struct grid grid;
	struct str text;
};

static size_t column_of(const struct page *p, uint32_t thread)
{
	size_t i = 0;

	while (i < p->nthreads && p->thread[i] != thread)
		i++;
	return i;
}

/* Returns false if there are too many. */
static bool find_threads(struct page *p)
{
	for (size_t i = 0; i < p->s->n; i++) {
		if (column_of(p, p->s->ev[i].thread) < p->nthreads)
			continue;
		if (p->nthreads == GRID_COLUMNS_MAX - 2)
			return false;
		p->thread[p->nthreads++] = p->s->ev[i].thread;
	}
	return true;
}

/* Returns "<-- e1" or similar if the event is one of the finding's accesses. */
static const char *mark_of(const struct page *p, size_t at)
{
	static const char *const one[] = {"<-- e1", "<-- f", "<-- e2"};
	static const char *const two[] = {"<-- e1", "<-- f1", "<-- f2", "<-- e2"};
	const struct finding *f = p->s->findings.v[0];

	for (size_t i = 0; i < f->nsteps; i++)
		if (f->steps[i].event == p->s->number[at])
			return f->nsteps == 3 ? one[i] : two[i];
	return NULL;
}

static void add_switch(struct page *p, uint32_t thread)
{
	if (!p->wide)
		return;
	grid_row(&p->grid);
	str_reset(&p->text);
	str_fmt(&p->text, "-- %s", names_thread(p->names, thread));
	grid_set(&p->grid, COL_THREADS + column_of(p, thread), SHOW_PLAIN, p->text.s);
}

static void add_event(struct page *p, size_t at)
{
	const struct event *e = &p->s->ev[at];
	struct grid *g = &p->grid;
	size_t col = p->wide ? COL_THREADS + column_of(p, e->thread) : COL_THREADS + 1;
	const char *mark = mark_of(p, at);

	grid_row(g);
	str_reset(&p->text);
	str_fmt(&p->text, "%" PRIu64, p->s->number[at]);
	grid_set(g, COL_EVENT, SHOW_PLAIN, p->text.s);
	if (!p->wide)
		grid_set(g, COL_THREADS, SHOW_PLAIN, names_thread(p->names, e->thread));
	str_reset(&p->text);
	event_text_op(&p->text, p->names, e);
	grid_set(g, col, SHOW_PLAIN, p->text.s);
	if (mark)
		grid_note(g, col, mark);
	str_reset(&p->text);
	event_text_place(&p->text, p->names, e);
	grid_set(g, g->ncols - 1, SHOW_PLAIN, p->text.s);
}

static void add_left_out(struct page *p, uint32_t thread, size_t n)
{
	size_t col = p->wide ? COL_THREADS + column_of(p, thread) : COL_THREADS + 1;

	grid_row(&p->grid);
	grid_set(&p->grid, COL_EVENT, SHOW_PLAIN, "...");
	str_reset(&p->text);
	str_fmt(&p->text, "%zu more", n);
	grid_set(&p->grid, col, SHOW_PLAIN, p->text.s);
}

/* Adds the events [from, to), which belong to one thread. */
static void add_run(struct page *p, size_t from, size_t to)
{
	size_t left_out = 0;

	add_switch(p, p->s->ev[from].thread);
	for (size_t i = from; i < to; i++) {
		bool inner = i - from >= ENDS && to - i > ENDS && to - from > 2 * ENDS + 1;

		if (inner && !p->all && !mark_of(p, i)) {
			left_out++;
			continue;
		}
		if (left_out)
			add_left_out(p, p->s->ev[i].thread, left_out);
		left_out = 0;
		add_event(p, i);
	}
}

/* How many runs of one thread's events there are. */
static size_t add_runs(struct page *p, bool add)
{
	size_t n = 0;

	for (size_t i = 0, end; i < p->s->n; i = end, n++) {
		end = i + 1;
		while (end < p->s->n && p->s->ev[end].thread == p->s->ev[i].thread)
			end++;
		if (add)
			add_run(p, i, end);
	}
	return n;
}

/* Returns false if it is wider than a terminal. */
static bool show_grid(struct page *p, FILE *out)
{
	bool fits;

	p->grid = (struct grid)GRID_INIT(2);
	grid_column(&p->grid, (struct grid_col){.min = SHOW_WIDTH, .right = true});
	for (size_t i = 0; i < (p->wide ? p->nthreads : 2); i++)
		grid_column(&p->grid, (struct grid_col){.min = 8, .stretch = p->wide});
	grid_column(&p->grid, (struct grid_col){.min = 8, .cut = SHOW_CUT_HEAD});

	grid_row(&p->grid);
	grid_set(&p->grid, COL_EVENT, SHOW_PLAIN, "event");
	for (size_t i = 0; p->wide && i < p->nthreads; i++)
		grid_set(&p->grid, COL_THREADS + i, SHOW_PLAIN,
			 names_thread(p->names, p->thread[i]));
	if (!p->wide)
		grid_set(&p->grid, COL_THREADS, SHOW_PLAIN, "thread");
	add_runs(p, true);
	fits = grid_fit(&p->grid);
	if (fits)
		grid_print(&p->grid, out, false);
	grid_free(&p->grid);
	return fits;
}

static void show_title(struct page *p, FILE *out)
{
	const struct finding *f = p->s->findings.v[0];
	size_t switches = add_runs(p, false) - 1;

	str_reset(&p->text);
	str_fmt(&p->text, "%s on ", f->pattern);
	show_add(&p->text, f->steps[0].operand, 24, SHOW_CUT_TAIL);
	if (f->nsteps == 4) {
		str_add(&p->text, " and ");
		show_add(&p->text, f->steps[2].operand, 24, SHOW_CUT_TAIL);
	}
	if (f->transaction.label) {
		str_add(&p->text, " in block '");
		show_add(&p->text, f->transaction.label, 40, SHOW_CUT_TAIL);
		str_addc(&p->text, '\'');
	}
	str_fmt(&p->text, ": %zu events, %zu switch%s from thread to thread", p->s->n, switches,
		switches == 1 ? "" : "es");
	show_wrap(out, p->text.s, 0, 2);
	putc('\n', out);
}

void schedule_show(const struct schedule *s, bool all, FILE *out)
{
	struct page p = {.s = s, .names = reader_names(s->reader), .all = all, .text = STR_INIT};

	show_title(&p, out);
	p.wide = find_threads(&p);
	if (!p.wide || !show_grid(&p, out)) {
		p.wide = false;
		show_grid(&p, out);
	}
	str_free(&p.text);
}
