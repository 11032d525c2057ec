#include "cli/describe.h"

#include "cli/cli.h"
#include "engine/engine.h"
#include "report/report.h"

#include "base/banned.h"

static void describe_options(const struct command *cmd, FILE *out)
{
	struct opt_walk w = {.next = cmd->opts};
	struct opt found, *o = &found;

	while (cmd->opts && opt_next(&w, o)) {
		fprintf(out, "option\t%s\t%.*s\t%s\t", cmd->name, o->letter ? 1 : 0, &o->letter,
			o->name);
		if (o->arg)
			fprintf(out, "%s%s", o->kind == OPT_KIND_U64_OR_1 ? "?" : "", o->arg);
		fprintf(out, "\t%s\n", o->help);
	}
}

void describe_all(FILE *out)
{
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->internal)
			continue;
		fprintf(out, "command\t%s\t%s\n", commands[i]->name, commands[i]->summary);
		describe_options(commands[i], out);
	}
	for (size_t i = 0; report_formats[i]; i++)
		fprintf(out, "format\t%s\t%s\n", report_formats[i]->name,
			report_formats[i]->summary);
	for (size_t i = 0; engines[i]; i++)
		fprintf(out, "engine\t%s\t%s\n", engines[i]->name, engines[i]->finding);
}
