#include "cli/printing.h"

#include "base/str.h"

#include "base/banned.h"

/* "--format takes text, json or dot, not 'xml'" */
static void bad_format(const struct command *cmd, const char *name)
{
	struct str list = STR_INIT;

	for (size_t i = 0; report_formats[i]; i++) {
		if (i)
			str_add(&list, report_formats[i + 1] ? ", " : " or ");
		str_add(&list, report_formats[i]->name);
	}
	cli_usage(cmd, "--format takes %s, not '%s'", list.s, name);
	str_free(&list);
}

const struct report_format *printing_format(const struct command *cmd, const char *name)
{
	const struct report_format *format = report_format_by_name(name ? name : "text");

	if (!format)
		bad_format(cmd, name);
	return format;
}
