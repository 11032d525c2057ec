/*
 * What all threads did lately, as a raw recording (trace/raw_format.h): their histories, cut to
 * what a report of a cycle needs. What closed the cycle is the last unit of its thread, and of all.
 * What is known from before the histories are facts beside it.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_SNAPSHOT_H
#define ATOMSAN_RUNTIME_REPORT_SNAPSHOT_H

#include "runtime/report/report.h"
#include "trace/live_format.h"

/* Grows by pages; if there is no more memory, `failed` is set and nothing more is written. */
struct snapshot_part {
	char *p; /* rt_pages(), of `cap` bytes */
	size_t n, cap;
	bool failed;
};
struct snapshot {
	struct snapshot_part recording;
	struct snapshot_part facts; /* sections of a FINDING, with their heads (live_format.h) */
};

/*
 * By the thread that closed the cycle, with the histories held: from a clock on. `steps` are the
 * cycle's, in the order of time: c->step backwards. Where a replay has found it, `found` says what
 * closed it, and else is NULL. False: it does not reach back that far.
 *
 * `whole`: all steps are in the histories. Else the cycle will not be found in what is told,
 * however much that is, and it is little: of each thread from the first step that is still there,
 * or the last chunk.
 */
bool snapshot_take(struct snapshot *o, bool whole, uint64_t from, const struct cycle *c,
		   const struct live_step *steps, const struct report_found *found);

#endif
