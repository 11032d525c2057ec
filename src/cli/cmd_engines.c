#include <stdio.h>

#include "cli/cli.h"
#include "engine/engine.h"

#include "base/banned.h"

static const struct opt opts[] = {
	OPT_END,
};

extern const struct command cmd_engines;

static int list(int argc, char **argv)
{
	(void)argv;
	if (argc)
		return cli_usage(&cmd_engines, "it takes no arguments");
	for (int i = 0; engines[i]; i++) {
		const struct engine_ops *e = engines[i];

		printf("%-16s %s%s%s\n", e->name, e->origin, i ? "" : " (default)",
		       e->second_pass ? "; reads the trace again to explain what it found" : "");
		printf("%16s finding: %s\n", "", e->finding);
		printf("%16s silence: %s\n", "", e->silence);
	}
	return 0;
}

const struct command cmd_engines = {
	.name = "engines",
	.synopsis = "",
	.summary = "list the engines, and what a finding of each means",
	.opts = opts,
	.run = list,
};
