/*
 * JUnit's XML, which continuous-integration servers show as tests: one suite per
 * engine, and in it one failed case per group of findings, with the text report
 * inside. If nothing was found, the suite has one case that passes.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/shown.h"
#include "report/story.h"
#include "report/text.h"
#include "report/where.h"
#include "report/xml.h"

#include "base/banned.h"

static void add_attribute(struct str *b, const char *name, const char *value)
{
	str_fmt(b, " %s=\"", name);
	xml_add(b, value, true);
	str_addc(b, '"');
}

/* Add the text report of a group. */
static void add_text(struct str *b, const struct report *rep, const struct group *g)
{
	struct report plain = {.source = rep->source, .verbosity = rep->verbosity};
	char *text = NULL;
	size_t n;
	FILE *memory = open_memstream(&text, &n);

	if (!memory)
		return;
	text_finding_write(&plain, g, memory);
	if (!fclose(memory))
		xml_add(b, text, false);
	free(text);
}

static void write_finding(const struct report *rep, const struct engine_result *res,
			  const struct group *g, FILE *out)
{
	const struct finding *f = group_best(g);
	struct where w = WHERE_INIT;
	struct str b = STR_INIT, name = STR_INIT, kind = STR_INIT;

	str_add(&b, "    <testcase");
	add_attribute(&b, "classname", res->ops->name);
	story_add_title(&name, f);
	story_untie(name.s);
	/* The fingerprint distinguishes two cases about the same block. */
	str_fmt(&name, " %016" PRIx64, f->fingerprint);
	add_attribute(&b, "name", name.s);
	if (where_of_finding(&w, f)) {
		str_reset(&name);
		where_add_from_root(&name, w.file.s);
		add_attribute(&b, "file", name.s);
	}
	str_add(&b, ">\n      <failure");
	story_add_kind(&kind, f);
	add_attribute(&b, "type", kind.s);
	str_reset(&name);
	story_add_line(&name, f);
	add_attribute(&b, "message", name.s);
	str_addc(&b, '>');
	add_text(&b, rep, g);
	str_add(&b, "</failure>\n    </testcase>\n");
	fwrite(b.s, 1, b.n, out);
	str_free(&b);
	str_free(&name);
	str_free(&kind);
	where_free(&w);
}

static void write_suite(const struct report *rep, const struct engine_result *res, FILE *out)
{
	struct groups found = shown_groups(&res->findings);
	size_t n = found.n;
	bool broken = rep->source.error;
	struct str b = STR_INIT;

	str_add(&b, "  <testsuite");
	add_attribute(&b, "name", res->ops->name);
	str_fmt(&b, " tests=\"%zu\" failures=\"%zu\" errors=\"%d\" time=\"%.3f\">\n",
		n + broken + (!n && !broken), n, broken, res->seconds);
	fwrite(b.s, 1, b.n, out);
	for (size_t i = 0; i < n; i++)
		write_finding(rep, res, &found.v[i], out);
	str_reset(&b);
	if (broken || !n) {
		str_add(&b, "    <testcase");
		add_attribute(&b, "classname", res->ops->name);
		add_attribute(&b, "name", report_source_name(&rep->source));
		if (broken) {
			str_add(&b, ">\n      <error");
			add_attribute(&b, "type", "trace");
			add_attribute(&b, "message", rep->source.error);
			str_add(&b, "/>\n    </testcase>\n");
		} else {
			str_add(&b, "/>\n");
		}
	}
	str_add(&b, "  </testsuite>\n");
	fwrite(b.s, 1, b.n, out);
	group_free(&found);
	str_free(&b);
}

static void junit_write(const struct report *rep, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"atomsan\">\n", out);
	for (size_t i = 0; i < rep->nresults; i++)
		write_suite(rep, &rep->results[i], out);
	fputs("</testsuites>\n", out);
}

const struct report_format junit_format = {
	.name = "junit",
	.summary = "JUnit's XML, for continuous-integration servers",
	.write = junit_write,
};
