/*
 * Checking a trace, for `check` and the commands that are short forms of it. Each has its own table
 * of options, which fills in check_asked. CHECK_OPTIONS are the rows that all of them share; the
 * rows of one command come before these.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_CHECK_H
#define ATOMSAN_CLI_CHECK_H

#include <stdbool.h>

#include "cli/blockspec.h"
#include "cli/cli.h"
#include "cli/printing.h"
#include "cli/suppressing.h"
#include "engine/blocks/options.h"
#include "engine/doublechecker/options.h"
#include "engine/precise/options.h"
#include "engine/predict/options.h"

struct check_options {
	const char *engine; /* NULL: the default */
	bool all, lenient;
	struct velodrome_options velodrome;
	struct blocks_options blocks;
	struct doublechecker_options doublechecker;
	struct predict_options predict;
};
extern struct check_options check_asked;

/* clang-format off */
#define CHECK_OPTIONS                                                                              \
	PRINTING_OPTIONS,                                                                          \
	OPT_FLAG(0, "all", &check_asked.all,                                                       \
		 "print every finding, including those that look the same"),                            \
	OPT_FLAG(0, "lenient", &check_asked.lenient,                                               \
		 "skip events that cannot have happened, and count them"),                         \
	OPT_TABLE(predict_opts, &check_asked.predict),                                             \
	BLOCKSPEC_OPT,                                                                             \
	SUPPRESSING_OPT
/* clang-format on */

/* Like a command's run(); messages name `cmd`. */
int check_run(const struct command *cmd, int argc, char **argv);

#endif
