/*
 *	      event  T1                T2
 *	          3  * begin(deposit)                        bank.c:9
 *	+-->      5  | r(balance)                            bank.c:12
 *	|         8  |                 + begin(deposit)
 *	|        10  |                 | w(balance)          bank.c:14
 *	+---     16  | w(balance)  <-- closes the cycle      bank.c:14
 *
 * A bar beside a thread's events is an open block; '*' begins the blamed block.
 * Rows are in the order of events, or in the predicted order if the finding is
 * predicted. A variable or lock without a short name has a number in the picture,
 * and its name stands below. A live finding has no event numbers.
 */
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/grid.h"
#include "report/step.h"

#include "base/banned.h"

/* A finding with more steps is listed; without -v, only the head and tail of a long list. */
enum { PICTURE_STEPS_MAX = 32, LIST_HEAD = 24, LIST_TAIL = 8 };

/* Columns of the picture: the loop, the event, one per thread, then the place. */
enum { COL_LOOP, COL_EVENT, COL_THREADS, THREADS_MAX = GRID_COLUMNS_MAX - COL_THREADS - 1 };

struct row {
	const struct finding_step *step; /* if is_begin, the first step of the block */
	bool is_begin;
	uint64_t event;
	size_t order;
	size_t block; /* or NO_BLOCK */
};
#define NO_BLOCK SIZE_MAX

struct block {
	const struct finding_step *step; /* its first */
	size_t thread;
	size_t begin, end; /* rows */
};

struct picture {
	const struct finding *f;
	const char *thread[THREADS_MAX];
	size_t nthreads;
	struct block block[PICTURE_STEPS_MAX];
	size_t nblocks;
	struct row row[2 * PICTURE_STEPS_MAX];
	size_t nrows;
};

/* The index of a thread, added if it is new; THREADS_MAX if there is no room. */
static size_t thread_of(struct picture *p, const char *name)
{
	size_t i = 0;

	while (i < p->nthreads && !step_same_name(p->thread[i], name))
		i++;
	if (i == p->nthreads && i < THREADS_MAX)
		p->thread[p->nthreads++] = name;
	return i;
}

static bool has_event(const struct finding *f, const char *thread, uint64_t event)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (f->steps[i].event == event && step_same_name(f->steps[i].thread, thread))
			return true;
	return false;
}

static void add_row(struct picture *p, const struct finding_step *s, bool is_begin, size_t block)
{
	p->row[p->nrows] = (struct row){
		.step = s,
		.is_begin = is_begin,
		.event = is_begin ? s->begin : s->event,
		.order = p->nrows,
		.block = block,
	};
	p->nrows++;
}

static size_t block_of(struct picture *p, const struct finding_step *s)
{
	size_t i = 0;

	if (!s->begin)
		return NO_BLOCK;
	while (i < p->nblocks && !step_same_block(p->block[i].step, s))
		i++;
	if (i == p->nblocks) {
		p->block[p->nblocks++] =
			(struct block){.step = s, .thread = thread_of(p, s->thread)};
		if (!has_event(p->f, s->thread, s->begin))
			add_row(p, s, true, i);
	}
	return i;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->event != y->event)
		return x->event > y->event ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Collect blocks and rows. False if there is too much to draw. */
static bool picture_collect(struct picture *p)
{
	const struct finding *f = p->f;

	if (f->nsteps > PICTURE_STEPS_MAX)
		return false;
	for (size_t i = 0; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];

		if (thread_of(p, s->thread) == THREADS_MAX)
			return false;
		add_row(p, s, false, block_of(p, s));
	}
	if (f->status != FINDING_PREDICTED)
		qsort(p->row, p->nrows, sizeof p->row[0], compare_rows);
	for (size_t i = p->nrows; i-- > 0;)
		if (p->row[i].block != NO_BLOCK)
			p->block[p->row[i].block].begin = i;
	for (size_t i = 0; i < p->nrows; i++)
		if (p->row[i].block != NO_BLOCK)
			p->block[p->row[i].block].end = i;
	return true;
}

static size_t row_of(const struct picture *p, const struct finding_step *s)
{
	size_t i = 0;

	while (p->row[i].step != s || p->row[i].is_begin)
		i++;
	return i;
}

static void write_footnotes(const struct finding *f, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < f->nsteps; i++) {
		struct str b = STR_INIT;

		if (step_footnote(f, &f->steps[i]) <= n)
			continue;
		str_fmt(&b, "[%zu] ", ++n);
		show_add(&b, f->steps[i].operand, SIZE_MAX, SHOW_CUT_TAIL);
		show_wrap(out, b.s, 2, 6);
		str_free(&b);
	}
}

/* Add "r(balance)" or "r([1])". */
static void add_op(struct str *b, const struct finding *f, const struct finding_step *s)
{
	size_t footnote = step_footnote(f, s);

	if (footnote)
		str_fmt(b, "%s([%zu])", s->op ? s->op : "?", footnote);
	else
		step_add_op(b, s, SIZE_MAX);
}

/* Fill in the row's own event: its number, its operation and its place. */
static void set_event(struct grid *g, struct picture *p, const struct row *r)
{
	const struct finding_step *s = r->step;
	enum show_style style = step_is_blamed(p->f, s) ? SHOW_RED : SHOW_PLAIN;
	struct str text = STR_INIT, place = STR_INIT;

	if (!p->f->live) {
		str_fmt(&text, "%" PRIu64, r->event);
		grid_set(g, COL_EVENT, SHOW_PLAIN, text.s);
		str_reset(&text);
	}
	if (r->is_begin) {
		str_add(&text, step_is_blamed(p->f, s) ? "* begin" : "+ begin");
		if (s->label) {
			str_addc(&text, '(');
			step_add_short_label(&text, p->f, s->label);
			str_addc(&text, ')');
		}
		step_add_short_place(&place, p->f, s->begin_place);
	} else {
		str_add(&text, s->begin ? "| " : "  ");
		add_op(&text, p->f, s);
		step_add_place(&place, p->f, s);
	}
	grid_set(g, COL_THREADS + thread_of(p, s->thread), style, text.s);
	grid_set(g, g->ncols - 1, SHOW_PLAIN, place.s);
	str_free(&text);
	str_free(&place);
}

static void set_row(struct grid *g, struct picture *p, size_t i)
{
	for (size_t k = 0; k < p->nblocks; k++) {
		const struct block *b = &p->block[k];

		if (i > b->begin && i < b->end)
			grid_set(g, COL_THREADS + b->thread,
				 step_is_blamed(p->f, b->step) ? SHOW_RED : SHOW_PLAIN, "|");
	}
	set_event(g, p, &p->row[i]);
}

/* Does the last step return to the first, so that the margin shows a loop? */
static bool closes_cycle(const struct finding *f)
{
	return f->nsteps > 1 && !step_same_name(f->kind, "movers") &&
	       (f->pattern || f->blame.thread || step_same_name(f->kind, "cycle")) &&
	       step_same_block(&f->steps[0], &f->steps[f->nsteps - 1]);
}

static bool picture_draw(const struct report *rep, struct picture *p, FILE *out)
{
	const struct finding *f = p->f;
	const struct finding_step *last = &f->steps[f->nsteps - 1];
	struct grid g = GRID_INIT(2);
	size_t from = 0, to = 0;
	bool fits;

	if (closes_cycle(f)) {
		from = row_of(p, &f->steps[0]);
		to = row_of(p, last);
	}
	grid_column(&g, (struct grid_col){.min = 4});
	grid_column(&g, (struct grid_col){.min = SHOW_WIDTH, .right = true});
	for (size_t i = 0; i < p->nthreads; i++)
		grid_column(&g, (struct grid_col){.min = 10, .stretch = true});
	grid_column(&g, (struct grid_col){.min = 12, .cut = SHOW_CUT_HEAD});

	grid_row(&g);
	grid_set(&g, COL_EVENT, SHOW_FAINT, f->live ? NULL : "event");
	for (size_t i = 0; i < p->nthreads; i++)
		grid_set(&g, COL_THREADS + i, SHOW_FAINT, p->thread[i] ? p->thread[i] : "?");
	for (size_t i = 0; i < p->nrows; i++) {
		grid_row(&g);
		set_row(&g, p, i);
		if (from < to && i >= from && i <= to)
			grid_set(&g, COL_LOOP, SHOW_FAINT,
				 i == from ? "+-->"
				 : i < to  ? "|"
					   : "+---");
		if (from < to && i == to)
			grid_note(&g, COL_THREADS + thread_of(p, last->thread),
				  f->status == FINDING_PREDICTED ? "<-- would close the cycle"
								 : "<-- closes the cycle");
	}
	fits = grid_fit(&g);
	if (fits)
		grid_print(&g, out, rep->color);
	grid_free(&g);
	return fits;
}

static void set_link(struct grid *g, size_t col, const struct finding_step *before,
		     const struct finding_step *s)
{
	static const char *const links[] = {
		[STEP_SAME_BLOCK] = "same block",
		[STEP_SAME_THREAD] = "same thread",
		[STEP_FORK] = "forked by it",
		[STEP_JOIN] = "joins its thread",
	};
	struct str text = STR_INIT;
	enum step_link link = step_link(before, s);

	if (link != STEP_CONFLICT)
		str_add(&text, links[link]);
	else if (s->operand) {
		str_add(&text, "conflicts on ");
		step_add_operand(&text, s);
	} else
		str_add(&text, "conflicts on ?");
	grid_set(g, col, SHOW_PLAIN, text.s);
	str_free(&text);
}

/* Write the steps as a list in the order of the cycle, one per line. */
static void write_list(const struct report *rep, const struct finding *f, FILE *out)
{
	static const char *const heads[] = {
		NULL, "event", "thread", "block", "step", "place", "link to previous step"};
	static const struct grid_col cols[] = {
		{.min = 1}, {.min = SHOW_WIDTH, .right = true}, {.min = 4},  {.min = 4},
		{.min = 8}, {.min = 8, .cut = SHOW_CUT_HEAD},   {.min = 12},
	};
	struct grid g = GRID_INIT(2);
	struct str text = STR_INIT;

	for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++)
		grid_column(&g, cols[i]);
	grid_row(&g);
	for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++)
		grid_set(&g, i, SHOW_FAINT, i == 1 && f->live ? NULL : heads[i]);
	for (size_t i = 0; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];
		enum show_style style = step_is_blamed(f, s) ? SHOW_RED : SHOW_PLAIN;

		grid_row(&g);
		if (rep->verbosity < 1 && i == LIST_HEAD && f->nsteps > LIST_HEAD + LIST_TAIL + 1) {
			i = f->nsteps - LIST_TAIL - 1;
			str_reset(&text);
			str_fmt(&text, "%zu steps left out (-v shows them)", i + 1 - LIST_HEAD);
			grid_set(&g, 1, SHOW_PLAIN, "...");
			grid_note(&g, 1, text.s);
			continue;
		}
		grid_set(&g, 0, style, step_is_blamed(f, s) ? "*" : NULL);
		str_reset(&text);
		str_fmt(&text, "%" PRIu64, s->event);
		grid_set(&g, 1, SHOW_PLAIN, f->live ? NULL : text.s);
		grid_set(&g, 2, style, s->thread ? s->thread : "?");
		grid_set(&g, 3, style, s->label ? s->label : s->begin ? "(no name)" : "-");
		str_reset(&text);
		add_op(&text, f, s);
		grid_set(&g, 4, style, text.s);
		str_reset(&text);
		step_add_place(&text, f, s);
		grid_set(&g, 5, SHOW_PLAIN, text.s);
		if (i)
			set_link(&g, 6, s - 1, s);
	}
	if (grid_fit(&g))
		grid_print(&g, out, rep->color);
	str_free(&text);
	grid_free(&g);
}

void text_cycle_write(const struct report *rep, const struct finding *f, FILE *out)
{
	struct picture *p;

	if (!f->nsteps)
		return;
	p = mem_zalloc(sizeof *p);
	p->f = f;
	if (!picture_collect(p) || !picture_draw(rep, p, out))
		write_list(rep, f, out);
	write_footnotes(f, out);
	mem_free(p);
}
