/*
 * Options of the engines `velodrome` and `frontier`.
 *
 * Included by: the files of precise/, the command line, the reporter, tests.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_OPTIONS_H
#define ATOMSAN_ENGINE_PRECISE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "trace/reader.h"

struct velodrome_options {
	bool no_merge; /* a node for each operation outside blocks */
};
extern const struct opt velodrome_opts[];

struct frontier_options {
	const struct frontier_given
		*given; /* explain this cycle, and look for no others; or NULL */
};

/*
 * A cycle that the runtime has found, in a raw recording: the last unit of a thread closes it.
 * `closing` says which bytes of that unit do. `steps` are the steps of the cycle, the last of them
 * by that thread. They are used only if the operations do not show which block is to blame, and
 * the order of transactions, which depends on which of several cycles was closed first, does not
 * show a path either.
 */
struct frontier_given {
	uint32_t thread;
	const struct reader_unit *closing, *steps; /* the reader's answers, after the first pass */
	size_t nclosing, nsteps;
	bool *believed; /* set if a finding rests on `steps` */
};

#endif
