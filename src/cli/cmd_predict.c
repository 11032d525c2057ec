/* atomsan predict: check --engine=predict. */
#include "cli/blockspec.h"
#include "cli/check.h"

#include "base/banned.h"

static const struct opt opts[] = {
	CHECK_OPTIONS,
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
