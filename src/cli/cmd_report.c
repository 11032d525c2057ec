#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/printing.h"
#include "report/json.h"
#include "report/shown.h"

#include "base/banned.h"

static const struct opt opts[] = {
	PRINTING_OPTIONS,
	OPT_END,
};

extern const struct command cmd_report; /* main.c lists it */

/* Reads the whole file, or standard input for "-". */
static int read_all(const char *path, struct str *text, struct err *err)
{
	return strcmp(path, "-") ? file_read(path, text, err)
				 : file_read_open(stdin, path, text, err);
}

static int report(int argc, char **argv)
{
	const struct report_format *format;
	struct report asked = {0};
	struct json_loaded loaded;
	struct str text = STR_INIT;
	struct err err = {0};
	size_t found = 0;
	int rc;

	if (argc != 1)
		return cli_usage(&cmd_report, argc ? "it takes one file" : "which findings?");
	rc = printing_prepare(&cmd_report, argv[0], &asked, &format);
	if (rc)
		return rc;
	rc = read_all(argv[0], &text, &err) ||
	     json_load(&loaded, strcmp(argv[0], "-") ? argv[0] : "standard input", text.s, text.n,
		       &err);
	str_free(&text);
	if (rc)
		return cli_error("%s", err.text);
	loaded.rep.color = asked.color;
	loaded.rep.verbosity = asked.verbosity;
	for (size_t i = 0; i < loaded.rep.nresults; i++) {
		shown_select(&loaded.results[i].findings, asked.verbosity > 0, false);
		found += shown_count(&loaded.results[i].findings);
	}
	rc = printing_report(&loaded.rep, format);
	json_loaded_free(&loaded);
	return rc ? rc : found ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

const struct command cmd_report = {
	.name = "report",
	.synopsis = "[options] FINDINGS.json",
	.summary = "print findings saved by --format=json in another format",
	.opts = opts,
	.run = report,
};
