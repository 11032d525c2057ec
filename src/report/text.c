/* The report for people. It looks like ThreadSanitizer's, with a drawing of the cycle. */
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

#include "report/grid.h"
#include "report/region.h"
#include "report/show.h"
#include "report/shown.h"
#include "report/step.h"
#include "report/story.h"

#include "base/banned.h"

static const char separator[] = "==================\n";

/* Rows of the summary without -v. */
enum { SUMMARY_MAX = 24 };

/* A group_order: same region in the source, same kind of statement about it. */
static int compare_blocks(const struct finding *a, const struct finding *b)
{
	int c = !!a->blame.thread - !!b->blame.thread;

	if (!c)
		c = group_order_string(region_name(a), region_name(b));
	if (!c)
		c = group_order_string(region_place(a), region_place(b));
	if (!c && !a->blame.thread)
		c = group_order_string(a->kind, b->kind);
	/* A finding without a block is about a variable. */
	if (!c && !a->blame.thread && !region_name(a))
		c = group_order_string(a->variable, b->variable);
	return c ? c : (int)a->status - (int)b->status;
}

bool report_text_is_repeat(const struct finding *f, const struct finding *before)
{
	return !compare_blocks(f, before) &&
	       (before->rests_on == RESTS_ON_DATA || f->rests_on != RESTS_ON_DATA);
}

static void set_number(struct grid *g, size_t column, uint64_t n)
{
	struct str text = STR_INIT;

	str_fmt(&text, "%" PRIu64, n);
	grid_set(g, column, SHOW_PLAIN, text.s);
	str_free(&text);
}

/* Set the name of the finding's block in a row of the summary. */
static void set_block(struct grid *g, size_t column, const struct finding *f)
{
	struct str text = STR_INIT;

	if (region_name(f))
		str_fmt(&text, "%s%s", region_name(f), story_is_blameless(f) ? ", not blamed" : "");
	else if (f->blame.thread)
		str_fmt(&text, "block at event %" PRIu64, f->blame.begin);
	else
		str_fmt(&text, "%s%s", f->variable ? f->variable : "(no name)",
			story_is_blameless(f) ? ", not blamed" : "");
	grid_set(g, column, SHOW_PLAIN, text.s);
	str_free(&text);
}

static void set_block_row(struct grid *g, const struct group *group)
{
	const struct finding *f = group->v[0];
	struct str place = STR_INIT;

	grid_row(g);
	set_block(g, 0, f);
	step_add_short_place(&place, f, region_place(f));
	grid_set(g, 1, SHOW_PLAIN, place.s);
	set_number(g, 2, group_seen(group));
	grid_set(g, 3, SHOW_PLAIN, report_status_name(f->status));
	str_free(&place);
}

/* A table of the blocks, for traces that are not of a run. */
static void set_blocks(struct grid *g, const struct groups *blocks, size_t n)
{
	grid_column(g, (struct grid_col){.min = 12});
	grid_column(g, (struct grid_col){.min = 12, .cut = SHOW_CUT_HEAD});
	grid_column(g, (struct grid_col){.min = 20, .right = true});
	grid_column(g, (struct grid_col){.min = 9});
	grid_row(g);
	grid_set(g, 0, SHOW_FAINT, "block");
	grid_set(g, 1, SHOW_FAINT, "begins at");
	grid_set(g, 2, SHOW_FAINT, "seen");
	grid_set(g, 3, SHOW_FAINT, "status");
	for (size_t i = 0; i < n; i++)
		set_block_row(g, &blocks->v[i]);
}

static void set_cause_row(struct grid *g, const struct group *group)
{
	const struct finding *f = group_best(group);
	struct str text = STR_INIT;

	grid_row(g);
	set_number(g, 0, f->rank);
	set_block(g, 1, f);
	if (f->variable)
		step_add_without_aside(&text, f->variable);
	grid_set(g, 2, SHOW_PLAIN, text.s);
	str_reset(&text);
	if (f->nsteps)
		step_add_place(&text, f, &f->steps[f->nsteps - 1]);
	grid_set(g, 3, SHOW_PLAIN, text.s);
	set_number(g, 4, group_seen(group));
	grid_set(g, 5, SHOW_PLAIN, report_status_name(f->status));
	str_free(&text);
}

/* A table of the findings of a run, the most worth reading first. */
static void set_causes(struct grid *g, const struct groups *causes, size_t n)
{
	static const char *const heads[] = {"rank", "block", "variable", "at", "seen", "status"};

	grid_column(g, (struct grid_col){.min = 4, .right = true});
	grid_column(g, (struct grid_col){.min = 12});
	grid_column(g, (struct grid_col){.min = 8});
	grid_column(g, (struct grid_col){.min = 12, .cut = SHOW_CUT_HEAD});
	grid_column(g, (struct grid_col){.min = 4, .right = true});
	grid_column(g, (struct grid_col){.min = 9});
	grid_row(g);
	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		grid_set(g, i, SHOW_FAINT, heads[i]);
	for (size_t i = 0; i < n; i++)
		set_cause_row(g, &causes->v[i]);
}

/* Is the report about a recorded or live run? Then its findings are sorted by rank. */
static bool is_ranked(const struct groups *found)
{
	return found->n && found->v[0].v[0]->rank &&
	       (found->v[0].v[0]->recorded || found->v[0].v[0]->live);
}

/* Write a table of the findings or blocks. A single row needs none. */
static void write_summary(const struct report *rep, const struct groups *found,
			  const struct groups *blocks, FILE *out)
{
	const struct groups *rows = is_ranked(found) ? found : blocks;
	size_t n = rows->n;
	struct grid g = GRID_INIT(2);

	if (n < 2)
		return;
	if (n > SUMMARY_MAX && rep->verbosity < 1)
		n = SUMMARY_MAX;
	(rows == found ? set_causes : set_blocks)(&g, rows, n);
	if (grid_fit(&g))
		grid_print(&g, out, rep->color);
	if (n < rows->n)
		fprintf(out, "  ... and %zu more (-v shows them)\n", rows->n - n);
	putc('\n', out);
	grid_free(&g);
}

static void add_count(struct str *b, uint64_t n, const char *noun)
{
	str_fmt(b, "%" PRIu64 "%s%s%s", n, SHOW_TIE, noun, n == 1 ? "" : "s");
}

/* Add " in 120 events, 9 transactions, 3 threads". */
static void add_amount(struct str *b, const struct report_source *source, bool found)
{
	if (source->program) {
		/* A killed program did not report its counts. */
		if (!source->transactions)
			return;
		str_add(b, " in ");
		add_count(b, source->transactions, "transaction");
		if (!source->threads)
			return;
	} else {
		str_add(b, " in ");
		add_count(b, source->events, "event");
		if (!found) {
			str_add(b, ", ");
			add_count(b, source->transactions, "transaction");
		}
	}
	str_add(b, ", ");
	add_count(b, source->threads, "thread");
}

/* Add how many of the predictions are feasible, unless all are, or it is not known. */
static void add_feasible(struct str *b, const struct groups *found)
{
	size_t feasible = 0;

	for (size_t i = 0; i < found->n; i++) {
		bool counts = false;

		for (size_t k = 0; k < found->v[i].n; k++)
			counts |= finding_counts(found->v[i].v[k]);
		feasible += counts;
	}
	if (!feasible)
		str_add(b, found->n == 1 ? ", not feasible," : ", none of them feasible,");
	else if (feasible < found->n)
		str_fmt(b, ", %zu of them feasible,", feasible);
}

/*
 * Write "atomsan: 2 atomicity violations (1 block blamed) in 120 events, 3 threads". A
 * transaction that closes several cycles counts as one violation.
 */
static void write_verdict(const struct report *rep, const char *noun, const struct groups *found,
			  const struct groups *blocks, FILE *out)
{
	bool atomicity = true, blameless = false;
	size_t blamed = 0;
	uint64_t seen = 0;
	struct str b = STR_INIT, amount = STR_INIT;

	add_amount(&amount, &rep->source, found->n > 0);
	for (size_t i = 0; i < found->n; i++)
		seen += group_seen(&found->v[i]);
	for (size_t i = 0; i < blocks->n; i++) {
		atomicity &= story_is_atomicity(blocks->v[i].v[0]);
		blameless |= story_is_blameless(blocks->v[i].v[0]);
		blamed += !!blocks->v[i].v[0]->blame.thread;
	}
	str_add(&b, "atomsan: ");
	if (!found->n) {
		str_fmt(&b, "no %s", noun ? noun : "finding");
	} else {
		add_count(&b, found->n, noun ? noun : "finding");
		if (atomicity && blamed)
			str_fmt(&b, " (%zu block%s blamed)", blamed, blamed == 1 ? "" : "s");
		else if (atomicity && blameless)
			str_add(&b, " (no single block blamed)");
		add_feasible(&b, found);
		if (rep->source.program && seen > found->n)
			str_fmt(&b, ", seen %" PRIu64 SHOW_TIE "times%s", seen,
				amount.n ? "," : "");
	}
	str_addn(&b, amount.s, amount.n);
	show_wrap_styled(out, b.s, rep->color, found->n ? SHOW_BOLD : SHOW_GREEN);
	str_free(&amount);
	str_free(&b);
}

static void write_stats(const struct engine_result *res, FILE *out)
{
	struct str b = STR_INIT;

	str_fmt(&b, "%s: %.3f" SHOW_TIE "seconds", res->ops->name, res->seconds);
	for (size_t i = 0; i < res->nstats; i++)
		str_fmt(&b, ", %s" SHOW_TIE "%" PRIu64, res->stats[i].name, res->stats[i].value);
	show_wrap(out, b.s, 2, 4);
	str_free(&b);
}

/* If an engine ran out of its budget, say that it may have missed findings. */
static void write_cut_short(const struct engine_result *res, FILE *out)
{
	static const char *const signs[] = {"search_cut_short", "nested_acquires_dropped"};

	for (size_t i = 0; i < res->nstats; i++)
		for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
			if (!strcmp(res->stats[i].name, signs[k]) && res->stats[i].value) {
				fputs("atomsan: the search was cut short; there may be more "
				      "findings\n",
				      out);
				return;
			}
}

static void write_finding(const struct report *rep, const struct group *g, bool brief, FILE *out)
{
	if (rep->verbosity < 0 || brief) {
		text_finding_summary(rep, g, out);
		return;
	}
	fputs(separator, out);
	text_finding_write(rep, g, out);
	fputs(separator, out);
}

/* Say how many findings had at most a line. */
static void write_brief_note(size_t nbrief, FILE *out)
{
	struct str b = STR_INIT;

	if (!nbrief)
		return;
	str_fmt(&b,
		"atomsan: %zu of these %s only a SUMMARY line or none, because %s block was shown "
		"before (-v shows everything)",
		nbrief, nbrief == 1 ? "has" : "have", nbrief == 1 ? "its" : "their");
	show_wrap(out, b.s, 0, 4);
	str_free(&b);
}

/* Say how many findings are left out. */
static void write_hidden_note(const struct finding_list *l, FILE *out)
{
	struct str b = STR_INIT, kinds = STR_INIT;
	uint64_t n = shown_add_hidden(&kinds, l);

	if (n) {
		str_fmt(&b, "atomsan: %" PRIu64 " %sfinding%s not shown (-v shows %s): %s", n,
			l->nshown ? "more " : "", n == 1 ? " is" : "s are", n == 1 ? "it" : "them",
			kinds.s);
		show_wrap(out, b.s, 0, 4);
	}
	str_free(&kinds);
	str_free(&b);
}

/* Say what a run without plain accesses cannot know. */
static void write_skeleton_note(const struct report *rep, FILE *out)
{
	if (rep->source.skeleton)
		show_wrap(
			out,
			"atomsan: plain accesses were not checked (skeleton run): data races were "
			"not looked for, and the verdict is exact only if this run had none",
			0, 4);
}

/* Say what to do next. */
static void write_advice(const struct groups *found, FILE *out)
{
	if (is_ranked(found))
		show_wrap(
			out,
			found->n == 1
				? "atomsan: if the block is not meant to be atomic, exclude it in "
				  "a file for --spec=FILE"
				: "atomsan: begin with rank 1; exclude blocks that are not meant "
				  "to be atomic in a file for --spec=FILE",
			0, 4);
}

/* Write what follows the findings. */
static void write_end(const struct report *rep, const struct engine_result *res,
		      const struct groups *found, size_t nbrief, FILE *out)
{
	struct groups blocks = group_by(&res->findings, compare_blocks);

	if (rep->verbosity >= 0) {
		if (found->n)
			putc('\n', out);
		write_summary(rep, found, &blocks, out);
		write_verdict(rep, res->ops->noun, found, &blocks, out);
		write_brief_note(nbrief, out);
		write_hidden_note(&res->findings, out);
		write_advice(found, out);
		write_cut_short(res, out);
		write_skeleton_note(rep, out);
	}
	if (rep->verbosity > 0)
		write_stats(res, out);
	group_free(&blocks);
}

static void write_result(const struct report *rep, const struct engine_result *res, FILE *out)
{
	struct groups found = shown_groups(&res->findings);
	const struct finding **whole = mem_alloc((found.n + 1) * sizeof *whole);
	size_t *lines = mem_zalloc((found.n + 1) * sizeof *lines);
	size_t nwhole = 0;

	if (rep->nresults > 1 && rep->verbosity >= 0)
		fprintf(out, "%s[%s]%s\n", show_on(rep->color, SHOW_BOLD), res->ops->name,
			show_off(rep->color, SHOW_BOLD));
	for (size_t i = 0; i < found.n; i++) {
		const struct finding *f = group_best(&found.v[i]);
		size_t k = rep->verbosity < 1 && !rep->all ? 0 : nwhole;

		while (k < nwhole && !report_text_is_repeat(f, whole[k]))
			k++;
		if (k == nwhole)
			whole[nwhole++] = f;
		else if (++lines[k] > REPORT_TEXT_LINES && rep->verbosity == 0)
			continue;
		write_finding(rep, &found.v[i], whole[k] != f, out);
	}
	mem_free(whole);
	mem_free(lines);
	write_end(rep, res, &found, found.n - nwhole, out);
	group_free(&found);
}

void report_text_finding(const struct report *rep, const struct finding *const *v, size_t n,
			 bool brief, FILE *out)
{
	struct group g = {.v = mem_alloc(n * sizeof *g.v), .n = n};

	for (size_t i = 0; i < n; i++)
		g.v[i] = v[i];
	write_finding(rep, &g, brief, out);
	mem_free(g.v);
}

void report_text_end(const struct report *rep, size_t nbrief, FILE *out)
{
	for (size_t i = 0; i < rep->nresults; i++) {
		struct groups found = shown_groups(&rep->results[i].findings);

		write_end(rep, &rep->results[i], &found, nbrief, out);
		group_free(&found);
	}
}

/*
 * Write what limits the report's validity. The command prints on standard error why a trace
 * broke off.
 */
static void write_caveats(const struct report_source *src, FILE *out)
{
	struct str b = STR_INIT;

	if (src->skipped) {
		str_add(&b, "atomsan: ");
		add_count(&b, src->skipped, "impossible event");
		str_add(&b, src->skipped == 1 ? " was skipped" : " were skipped");
		show_wrap(out, b.s, 0, 4);
	}
	if (src->error) {
		str_reset(&b);
		if (src->trace)
			str_add(&b, "atomsan: the trace broke off; this report covers only the "
				    "events before that");
		else
			str_fmt(&b, "atomsan: the check is incomplete: %s", src->error);
		show_wrap(out, b.s, 0, 4);
	}
	str_free(&b);
}

static void text_write(const struct report *rep, FILE *out)
{
	/* Nothing was read, so there is nothing to say about it. */
	if (rep->source.error && rep->source.trace && !rep->source.events)
		return;
	for (size_t i = 0; i < rep->nresults; i++) {
		/* Of a run that was not checked in full, do not say that nothing was found. */
		if (rep->source.error && !rep->source.trace &&
		    !finding_list_shown(&rep->results[i].findings))
			continue;
		if (i && rep->verbosity >= 0)
			putc('\n', out);
		write_result(rep, &rep->results[i], out);
	}
	if (rep->verbosity >= 0)
		write_caveats(&rep->source, out);
}

const struct report_format text_format = {
	.name = "text",
	.summary = "for people: each finding in words, with a drawing of its cycle",
	.write = text_write,
};
