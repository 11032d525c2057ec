/*
 * Annotations for GitHub workflows: lines in a job's log that GitHub shows beside
 * the source.
 *
 *	::error file=src/bank.c,line=14,col=17,title=AtomSan%3A ...::Thread T1's ...
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "report/shown.h"
#include "report/step.h"
#include "report/story.h"
#include "report/where.h"

#include "base/banned.h"

/* Escape '%' and newlines; in a property also the characters that would end it. */
static void put_escaped(FILE *out, const char *s, bool property)
{
	struct str shown = STR_INIT;

	/* A newline of our own begins a line of the message; other control characters are shown. */
	for (size_t n; *s; s += n) {
		n = strcspn(s, "\n");
		str_add_shown(&shown, s, n, SIZE_MAX);
		if (!s[n])
			continue;
		str_addc(&shown, '\n');
		n++;
	}
	for (const char *c = shown.s; *c; c++) {
		bool special = *c == '%' || *c == '\n' || (property && (*c == ':' || *c == ','));

		if (special)
			fprintf(out, "%%%02X", (unsigned char)*c);
		else
			putc(*c, out);
	}
	str_free(&shown);
}

static void write_finding(const struct finding *f, FILE *out)
{
	struct where w = WHERE_INIT;
	struct str b = STR_INIT;

	fprintf(out, "::%s ", story_is_certain(f) ? "error" : "warning");
	if (where_of_finding(&w, f)) {
		fputs("file=", out);
		where_add_from_root(&b, w.file.s);
		put_escaped(out, b.s, true);
		fprintf(out, ",line=%" PRIu32 ",", w.line);
		if (w.column)
			fprintf(out, "col=%" PRIu32 ",", w.column);
	}
	fputs("title=", out);
	str_reset(&b);
	str_add(&b, "AtomSan: ");
	story_add_title(&b, f);
	story_untie(b.s);
	put_escaped(out, b.s, true);
	fputs("::", out);
	str_reset(&b);
	story_add_line(&b, f);
	put_escaped(out, b.s, false);
	for (size_t i = 0; i < f->nsteps; i++) {
		str_reset(&b);
		str_addc(&b, '\n');
		step_add_deed(&b, f, &f->steps[i]);
		if (where_of_step(&w, &f->steps[i])) {
			str_add(&b, " at ");
			where_add_from_root(&b, w.file.s);
			str_fmt(&b, ":%" PRIu32, w.line);
		}
		story_untie(b.s);
		put_escaped(out, b.s, false);
	}
	putc('\n', out);
	str_free(&b);
	where_free(&w);
}

static void github_write(const struct report *rep, FILE *out)
{
	for (size_t i = 0; i < rep->nresults; i++) {
		struct groups found = shown_groups(&rep->results[i].findings);

		for (size_t k = 0; k < found.n; k++)
			write_finding(group_best(&found.v[k]), out);
		group_free(&found);
	}
}

const struct report_format github_format = {
	.name = "github",
	.summary = "annotations, for the log of a GitHub workflow",
	.write = github_write,
};
