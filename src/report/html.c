/*
 * One HTML page that works off-line. The page is web/dist/report.html, which is built
 * from web/src, committed, and embedded in this program unchanged. This file inserts
 * its data: the JSON report, what the engines' findings mean, and sources.
 */
#include "report/report.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "report/excerpt.h"
#include "report/json.h"

#include "base/banned.h"

/* The page, with a terminating NUL. */
extern const char html_page[];
__asm__(".pushsection .rodata\n"
	".global html_page\n"
	".hidden html_page\n"
	"html_page:\n"
	".incbin \"" ATOMSAN_HTML_PAGE "\"\n"
	".byte 0\n"
	".popsection\n");

/* Marks the place for the data; the page has it once. */
static const char mark[] = "@ATOMSAN-DATA@";

static void write_engines(struct json_emit *j, const struct report *rep)
{
	json_emit_open(j, "engines", '[', JSON_LINES);
	for (size_t i = 0; i < rep->nresults; i++) {
		const struct engine_ops *ops = rep->results[i].ops;

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "name", ops->name);
		json_emit_str(j, "noun", ops->noun);
		json_emit_str(j, "finding", ops->finding);
		json_emit_str(j, "silence", ops->silence);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static void html_write(const struct report *rep, FILE *out)
{
	struct json_emit j = JSON_EMIT_INIT(out);
	const char *at = strstr(html_page, mark);
	char here[PATH_MAX];

	j.in_html = true;
	fwrite(html_page, 1, (size_t)(at - html_page), out);
	json_emit_open(&j, NULL, '{', JSON_LINES);
	/* The page shows paths relative to this folder. */
	json_emit_str(&j, "here", getcwd(here, sizeof here));
	json_emit_report(&j, "report", rep);
	write_engines(&j, rep);
	excerpt_emit(&j, "sources", rep);
	json_emit_close(&j);
	fputs(at + strlen(mark), out);
}

const struct report_format html_format = {
	.name = "html",
	.summary = "one self-contained page for a browser",
	.context = true,
	.write = html_write,
};
