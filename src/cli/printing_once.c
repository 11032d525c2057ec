/* For commands that print once, at the end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int printing_report(const struct report *rep, const struct report_format *format)
{
	FILE *out = stdout;

	if (o->output && strcmp(o->output, "-")) {
		out = fopen(o->output, "we");
		if (!out)
			return cli_error("%s: %s", o->output, strerror(errno));
	}
	format->write(rep, out);
	if (out != stdout && (ferror(out) | fclose(out)))
		return cli_error("%s: writing failed", o->output);
	return 0;
}
