/*
 * Options of the engine `blocks`.
 *
 * Included by: blocks.c, the command line, tests.
 */
#ifndef ATOMSAN_ENGINE_BLOCKS_OPTIONS_H
#define ATOMSAN_ENGINE_BLOCKS_OPTIONS_H

#include "base/opt.h"

struct blocks_options {
	/* "pairs", the default if NULL, or "sets": cycles of three and more transactions too. */
	const char *what;
};
extern const struct opt blocks_opts[];

#endif
