/*
 * A snapshot: a copy of all histories, cut to what the report of one cycle needs.
 *
 * The copy is a raw recording (trace/raw_format.h). The operation that closed the cycle
 * is the last unit of its thread, and by its clock the last of all. Facts from before the
 * histories stand beside it, in sections of their own.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_SNAPSHOT_H
#define ATOMSAN_RUNTIME_REPORT_SNAPSHOT_H

#include "runtime/report/part.h"
#include "runtime/report/report.h"
#include "trace/live_format.h"

struct snapshot {
	struct snapshot_part recording;
	struct snapshot_part facts; /* sections of a FINDING, with their heads (live_format.h) */
};

/*
 * Take a snapshot from the clock `from` on. The caller holds the histories and passes `o` zeroed;
 * afterwards the caller frees the pages in `o`.
 *
 * A cycle that was just closed by the calling thread: `c` is the cycle, `steps` are its steps in
 * the order of time (c->step backwards), and `found` is NULL. `whole` says that all steps are in
 * the histories. If not, the reporter cannot find the cycle in any recording, so the snapshot is
 * small: each history from its first step that is still there, or its last chunk.
 *
 * A cycle that a replay found: `found` describes it, and `c` and `steps` only name its last access.
 *
 * Returns false if a history does not reach back far enough.
 */
bool snapshot_take(struct snapshot *o, bool whole, uint64_t from, const struct cycle *c,
		   const struct live_step *steps, const struct report_replayed *found);

#endif
