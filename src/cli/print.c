#include "cli/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "base/banned.h"

struct print_options print_asked;
static const struct print_options *const o = &print_asked;

static int use_color(bool *color)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (!o->color || !strcmp(o->color, "auto"))
		*color = !o->output && isatty(1) && term && strcmp(term, "dumb") && !(no && *no);
	else if (!strcmp(o->color, "always") || !strcmp(o->color, "never"))
		*color = o->color[0] == 'a';
	else
		return -1;
	return 0;
}

/* "--format takes text, json or dot, not 'xml'" */
static int bad_format(const struct command *cmd)
{
	struct str list = STR_INIT;
	int rc;

	for (size_t i = 0; report_formats[i]; i++) {
		if (i)
			str_add(&list, report_formats[i + 1] ? ", " : " or ");
		str_add(&list, report_formats[i]->name);
	}
	rc = cli_usage(cmd, "--format takes %s, not '%s'", list.s, o->format);
	str_free(&list);
	return rc;
}

int print_prepare(const struct command *cmd, const char *in, struct report *rep,
		  const struct report_format **format)
{
	*format = report_format_by_name(o->format ? o->format : "text");
	if (!*format)
		return bad_format(cmd);
	if (use_color(&rep->color))
		return cli_usage(cmd, "--color takes auto, always or never");
	if (o->output && strcmp(o->output, "-") && cli_same_file(in, o->output))
		return cli_error("%s and %s are the same file", in, o->output);
	rep->verbosity = o->quiet ? -1 : o->verbose;
	return 0;
}

int print_report(const struct report *rep, const struct report_format *format)
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
