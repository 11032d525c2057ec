/* For commands that print once, at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/output_file.h"
#include "cli/printing.h"
#include "report/color.h"

#include "base/banned.h"

struct printing_options printing_asked;
static const struct printing_options *const o = &printing_asked;

int printing_prepare(const struct command *cmd, const char *in, struct report *rep,
		     const struct report_format **format)
{
	*format = printing_format(cmd, o->format);
	if (!*format)
		return EXIT_BAD;
	if (color_decide(o->color, o->output ? -1 : 1, &rep->color))
		return cli_usage(cmd, "--color takes auto, always or never");
	if (o->output && strcmp(o->output, "-") && cli_same_file(in, o->output))
		return cli_error("%s and %s are the same file", in, o->output);
	rep->verbosity = o->quiet ? -1 : o->verbose;
	return 0;
}

/* Says that the report is lost, and prints it as text to standard error. */
static int rescue_report(const struct report *rep, const char *why)
{
	struct report again = *rep;

	cli_error("%s; the findings follow as text", why);
	again.color = false;
	text_format.write(&again, stderr);
	return EXIT_BAD;
}

int printing_report(const struct report *rep, const struct report_format *format)
{
	struct output_file file;
	struct err err = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *out;
	int rc;

	if (!o->output || !strcmp(o->output, "-")) {
		format->write(rep, stdout);
		return fflush(stdout) || ferror(stdout)
			       ? rescue_report(rep, "writing to standard output failed")
			       : 0;
	}
	out = open_memstream(&text, &n);
	if (!out)
		mem_exhausted(sizeof *out);
	format->write(rep, out);
	rc = ferror(out) | fclose(out);
	if (rc)
		mem_exhausted(n);
	rc = output_file_open(&file, o->output, &err);
	if (!rc) {
		rc = output_file_write(&file, text, n, &err);
		rc |= output_file_close(&file, !rc, &err);
	}
	free(text);
	return rc ? rescue_report(rep, err.text) : 0;
}
