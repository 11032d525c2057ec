/* atomsan predict: check --engine=predict. */
#include "cli/blockspec.h"
#include "cli/check.h"

#include "base/banned.h"

static const struct opt opts[] = {
	OPT_STR('f', "format", "FORMAT", &check_asked.format, "text (the default), json or dot"),
	OPT_STR('o', "output", "FILE", &check_asked.output, "write the findings there"),
	OPT_FLAG(0, "all", &check_asked.all, "print every finding, also those that look the same"),
	OPT_STR(0, "color", "WHEN", &check_asked.color, "auto (the default), always or never"),
	OPT_FLAG(0, "lenient", &check_asked.lenient,
		 "skip events that cannot have happened, and count them"),
	BLOCKSPEC_OPT,
	OPT_COUNT('q', "quiet", &check_asked.quiet, "one line a finding"),
	OPT_COUNT('v', "verbose", &check_asked.verbose,
		  "the engine's figures and the whole schedule too"),
	OPT_END,
};

extern const struct command cmd_predict; /* main.c lists it */

static int predict(int argc, char **argv)
{
	check_asked.engine = "predict";
	return check_run(&cmd_predict, argc, argv);
}

const struct command cmd_predict = {
	.name = "predict",
	.synopsis = "[options] TRACE",
	.summary = "look for interleavings of a run that would break atomicity",
	.opts = opts,
	.run = predict,
};
