/* The overview as text, the text format, and the merged specification. */
#include "campaign/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/shown.h"
#include "report/text.h"
#include "spec/spec.h"

#include "base/banned.h"

enum { FAILED_SHOWN = 5, NAME_MAX_SHOWN = 300 };

/* 1234567 as "1,234,567" */
static void add_count(struct str *b, uint64_t n)
{
	char digits[32];
	size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n);

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_addc(b, ',');
		str_addc(b, digits[i]);
	}
}

static void add_plural(struct str *b, uint64_t n, const char *noun)
{
	add_count(b, n);
	str_fmt(b, " %s%s", noun, n == 1 ? "" : "s");
}

static void add_time(struct str *b, double seconds)
{
	if (seconds < 100)
		str_fmt(b, "%.1f seconds", seconds);
	else if (seconds < 2 * 3600)
		str_fmt(b, "%.0f minutes", seconds / 60);
	else if (seconds < 100 * 3600)
		str_fmt(b, "%.1f hours", seconds / 3600);
	else
		str_fmt(b, "%.0f days", seconds / 86400);
}

static void add_percent(struct str *b, double share)
{
	double p = 100 * share;

	str_fmt(b, p >= 10 || p == 0 ? "%.0f %%" : p >= 0.1 ? "%.1f %%" : "%.3f %%", p);
}

static void add_progress(const struct view *v, struct str *b)
{
	uint64_t n = v->m->nruns, most = v->tasks;

	add_count(b, v->done);
	if (most) {
		str_add(b, " of ");
		add_plural(b, most, "run");
	} else {
		str_fmt(b, " run%s", v->done == 1 ? "" : "s");
	}
	str_add(b, " done");
	if (n > v->done)
		str_fmt(b,
			" (%" PRIu64
			" of them twice: a worker was taken for dead, or copies of the folder "
			"went on separately)",
			n - v->done);
	if (n) {
		str_add(b, " by ");
		add_plural(b, v->workers, "worker");
		str_add(b, ", in ");
		add_time(b, v->seconds);
		str_add(b, " of running; a run takes ");
		str_fmt(b, v->seconds / (double)n < 0.1 ? "%.3f" : "%.1f", v->seconds / (double)n);
		str_add(b, " seconds");
	}
	str_addc(b, '\n');
	if (n && most && v->done < most) {
		str_add(b, "left: ");
		add_plural(b, most - v->done, "run");
		str_add(b, ", about ");
		add_time(b, (double)(most - v->done) * v->seconds / (double)n);
		str_add(b, " of running\n");
	}
	if (v->failed) {
		add_plural(b, v->failed, "run");
		str_fmt(b, " failed%s\n", v->failed > FAILED_SHOWN ? "; the first:" : ":");
	}
}

static void add_failures(const struct view *v, struct str *b)
{
	size_t shown = 0;

	for (size_t i = 0; i < v->m->nruns && shown < FAILED_SHOWN; i++) {
		const struct merge_run *r = &v->m->runs[i];

		if (!r->failure)
			continue;
		shown++;
		str_fmt(b, "  run %zu (task %" PRIu64 "): ", i + 1, r->task);
		str_add_shown(b, r->failure, strlen(r->failure), NAME_MAX_SHOWN);
		str_addc(b, '\n');
	}
}

/* The line "SUMMARY: AtomSan: ..." without its beginning. */
static void add_subject(const struct view *v, const struct view_row *row, struct str *b)
{
	static const char head[] = "SUMMARY: AtomSan: ";
	struct report plain = {.source = v->rep.source};
	struct group g = {.v = (const struct finding **)&row->f, .n = 1};
	char *text = NULL, *at;
	size_t n;
	FILE *memory = open_memstream(&text, &n);

	if (!memory)
		return;
	text_finding_summary(&plain, &g, memory);
	if (!fclose(memory)) {
		text[strcspn(text, "\n")] = 0;
		at = strncmp(text, head, strlen(head)) ? text : text + strlen(head);
		str_add(b, at);
	}
	free(text);
}

static void add_rows(const struct view *v, struct str *b)
{
	if (!v->nrows)
		return;
	str_add(b, "\n  rank  seen in               first in    finding\n");
	for (size_t i = 0; i < v->nrows; i++) {
		const struct view_row *r = &v->rows[i];
		struct str seen = STR_INIT, first = STR_INIT;

		add_plural(&seen, r->runs, "run");
		str_add(&seen, " (");
		add_percent(&seen, (double)r->runs / (double)v->m->nruns);
		str_addc(&seen, ')');
		str_add(&first, "run ");
		add_count(&first, r->first);
		str_fmt(b, "  %4" PRIu32 "  %-21s %-11s ", r->rank, seen.s, first.s);
		add_subject(v, r, b);
		str_add(b, r->schedule ? "; has a schedule\n" : "\n");
		str_free(&seen);
		str_free(&first);
	}
}

/* Findings after 1, 2, 5, 10, ... runs. */
static void add_curve(const struct view *v, struct str *b)
{
	static const unsigned steps[] = {1, 2, 5};
	uint64_t runs = v->m->nruns, ten = 1, at;
	size_t k = 0;

	if (!v->npoints)
		return;
	str_add(b, "\nfindings after so many runs:");
	for (size_t i = 0;; i++) {
		at = steps[i % 3] * ten;
		ten *= i % 3 == 2 ? 10 : 1;
		if (at > runs)
			at = runs;
		while (k < v->npoints && v->points[k].run <= at)
			k++;
		str_fmt(b, "%s ", i ? "," : "");
		add_count(b, at);
		str_fmt(b, ": %" PRIu64, k ? v->points[k - 1].findings : 0);
		if (at == runs)
			break;
	}
	at = runs - v->points[v->npoints - 1].run;
	str_add(b, "\nthe last new one: ");
	if (at) {
		add_plural(b, at, "run");
		str_add(b, " ago\n");
	} else {
		str_add(b, "in the last run\n");
	}
}

/* "1 in 12 runs" */
static void add_rate(struct str *b, double rate)
{
	if (rate <= 0)
		str_add(b, "none");
	else if (rate >= 1)
		str_fmt(b, "%.1f per run", rate);
	else
		str_fmt(b, rate > 0.1 ? "1 in %.1f runs" : "1 in %.0f runs", 1 / rate);
}

static void add_estimate(const struct view *v, struct str *b)
{
	const struct estimate *e = &v->estimate;

	if (e->runs < 2)
		return;
	str_add(b, "\nnew findings to expect from more such runs: ");
	add_rate(b, e->next);
	str_add(b, " (95 %: ");
	if (e->next > 0) {
		add_rate(b, e->low);
		str_add(b, " to ");
	} else {
		str_add(b, "less than ");
	}
	add_rate(b, e->high);
	str_add(b, ")\n");
	if (e->unseen >= 0.5)
		str_fmt(b, "findings that are still unseen: about %.0f or more\n", e->unseen);
	else if (!e->once)
		str_add(b, "findings that are still unseen: probably none\n");
	str_fmt(b,
		"(%" PRIu64 " of %" PRIu64 " seen in one run only, %" PRIu64
		" in two; assumes that runs are alike and independent)\n",
		e->once, e->findings, e->twice);
}

void view_add_overview(const struct view *v, struct str *b)
{
	add_progress(v, b);
	add_failures(v, b);
	if (v->m->damaged) {
		add_plural(b, v->m->damaged, "damaged result");
		str_fmt(b, " %s left out\n", v->m->damaged == 1 ? "was" : "were");
	}
	add_plural(b, v->nrows, "finding");
	if (v->known)
		str_fmt(b, ", without %" PRIu64 " known", v->known);
	str_addc(b, '\n');
	add_rows(v, b);
	add_curve(v, b);
	if (v->m->nruns)
		add_estimate(v, b);
}

static void write_text(const struct report *rep, FILE *out)
{
	const struct view *v = (const struct view *)(const void *)rep;
	struct str b = STR_INIT;

	if (rep->verbosity >= 0) {
		view_add_overview(v, &b);
		fwrite(b.s, 1, b.n, out);
		if (v->nrows)
			fputc('\n', out);
	}
	str_free(&b);
	text_format.write(rep, out);
}

const struct report_format view_text_format = {
	.name = "text",
	.summary = "for people",
	.context = true,
	.write = write_text,
};

void view_add_spec(const struct view *v, struct str *b)
{
	const struct merge *m = v->m;
	uint64_t *runs = mem_zalloc((m->nrules + 1) * sizeof *runs);
	struct str comment = STR_INIT;

	for (size_t i = 0; i < m->ncampaigns; i++)
		if (m->campaigns[i].head)
			str_add(b, m->campaigns[i].head);
	for (size_t i = 0; i < m->nruns; i++)
		for (size_t k = 0; k < m->runs[i].nrules; k++)
			runs[m->runs[i].rules[k]]++;
	if (m->nrules)
		str_fmt(b,
			"\n# Removed by atomsan refine in %zu runs, with what refuted each "
			"first.\n",
			m->nruns);
	for (size_t i = 0; i < m->nrules; i++) {
		str_reset(&comment);
		str_fmt(&comment, "in %" PRIu64 " of %zu runs", runs[i], m->nruns);
		str_addc(b, '\n');
		spec_add_comment(b, comment.s);
		str_add(b, m->rules[i].why);
		str_fmt(b, "%s\n", m->rules[i].text);
	}
	str_free(&comment);
	mem_free(runs);
}
