#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/printing.h"
#include "report/json.h"

#include "base/banned.h"

static const struct opt opts[] = {
	PRINTING_OPTIONS,
	OPT_END,
};

extern const struct command cmd_report; /* main.c lists it */

/* Larger ones are no findings that anybody saved. */
#define BYTES_MAX (1ull << 30)

/* The whole file, or standard input for "-". */
static int read_all(const char *path, struct str *text, struct err *err)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	size_t n;

	if (!in)
		return err_sys(err, "%s", path);
	do {
		str_room(text, 1 << 16);
		n = fread(text->s + text->n, 1, 1 << 16, in);
		text->n += n;
		text->s[text->n] = 0;
	} while (n && text->n <= BYTES_MAX);
	if (ferror(in))
		err_sys(err, "%s", path);
	else if (text->n > BYTES_MAX)
		err_fail(err, "%s: more than a gigabyte", path);
	if (in != stdin)
		fclose(in);
	return err_is_set(err) ? -1 : 0;
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
		return cli_usage(&cmd_report, argc ? "one file at a time" : "which findings?");
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
	rc = printing_report(&loaded.rep, format);
	for (size_t i = 0; i < loaded.rep.nresults; i++)
		found += loaded.results[i].findings.n;
	json_loaded_free(&loaded);
	return rc ? rc : found ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

const struct command cmd_report = {
	.name = "report",
	.synopsis = "[options] FINDINGS.json",
	.summary = "print findings that --format=json saved in another form",
	.opts = opts,
	.run = report,
};
