/*
 * Warnings in the form of a compiler's, so that an editor can jump to them:
 *
 *	bank.c:14:17: warning: thread T1's block 'deposit' is not atomic: ... [frontier]
 *	bank.c:12:14: note: thread T1 read balance (event 5)
 */
#include "report/report.h"

#include <inttypes.h>

#include "report/shown.h"
#include "report/show.h"
#include "report/step.h"
#include "report/story.h"
#include "report/where.h"

#include "base/banned.h"

static void write_line(FILE *out, const struct where *w, const char *kind, const char *text)
{
	struct str path = STR_INIT, safe = STR_INIT;

	if (w) {
		where_add_from_here(&path, w->file.s);
		show_add(&safe, path.s, SIZE_MAX, SHOW_CUT_TAIL);
		fprintf(out, "%s:%" PRIu32, safe.s, w->line);
		if (w->column)
			fprintf(out, ":%" PRIu32, w->column);
	} else {
		fputs("atomsan", out);
	}
	fprintf(out, ": %s: %s\n", kind, text);
	str_free(&path);
	str_free(&safe);
}

static void write_finding(const struct report *rep, const char *engine, const struct finding *f,
			  FILE *out)
{
	struct where w = WHERE_INIT;
	struct str b = STR_INIT;

	story_add_line(&b, f);
	str_fmt(&b, " [%s]", engine);
	write_line(out, where_of_finding(&w, f) ? &w : NULL, "warning", b.s);
	for (size_t i = 0; i < f->nsteps && rep->verbosity >= 0; i++) {
		str_reset(&b);
		step_add_deed(&b, f, &f->steps[i]);
		story_untie(b.s);
		if (where_of_step(&w, &f->steps[i]))
			write_line(out, &w, "note", b.s);
	}
	str_free(&b);
	where_free(&w);
}

static void gcc_write(const struct report *rep, FILE *out)
{
	for (size_t i = 0; i < rep->nresults; i++) {
		struct groups found = shown_groups(&rep->results[i].findings);

		for (size_t k = 0; k < found.n; k++)
			write_finding(rep, rep->results[i].ops->name, group_best(&found.v[k]), out);
		group_free(&found);
	}
}

const struct report_format gcc_format = {
	.name = "gcc",
	.summary = "compiler-style warnings, for editors: file:line:column: warning: ...",
	.write = gcc_write,
};
