#include "report/report.h"

#include <string.h>

#include "base/banned.h"

const struct report_format *const report_formats[] = {
	&text_format,   &json_format,  &html_format, &sarif_format, &gcc_format,
	&github_format, &junit_format, &dot_format,  NULL,
};

const struct report_format *report_format_by_name(const char *name)
{
	for (size_t i = 0; report_formats[i]; i++)
		if (!strcmp(report_formats[i]->name, name))
			return report_formats[i];
	return NULL;
}

const char *report_status_name(enum finding_status status)
{
	static const char *const names[] = {
		[FINDING_OBSERVED] = "observed",
		[FINDING_PREDICTED] = "predicted",
		[FINDING_CONFIRMED] = "confirmed",
	};

	return names[status];
}

const char *report_source_name(const struct report_source *src)
{
	return src->trace ? src->trace : src->program ? src->program : "?";
}
