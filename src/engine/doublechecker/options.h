/*
 * Options of the engine `doublechecker`.
 *
 * Included by: doublechecker.c, the command line, tests.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_OPTIONS_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "engine/doublechecker/suspects.h"

struct doublechecker_options {
	uint64_t icd_block;  /* variables that have one owner together; 0: one */
	uint64_t log_budget; /* bytes for logs; 0: the default */
	/* Files of suspects, or NULL. The caller reads and writes them: see the next two fields. */
	const char *first_run, *second_run;
	/* Not on the command line: */
	struct suspects *suspects_out;      /* first run: imprecise only, names blocks here */
	const struct suspects *suspects_in; /* second run: only these */
	bool log_repeats;                   /* elide nothing: for tests */
};
extern const struct opt doublechecker_opts[];

#endif
