/*
 * A schedule that `predict` found: its events, in its order.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_SCHEDULE_H
#define ATOMSAN_CLI_SCHEDULE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "engine/finding.h"
#include "engine/predict/options.h"
#include "trace/reader.h"

/*
 * Selects a schedule: that of finding `number`, counted from 1 in the order of `atomsan predict
 * --vars=VARS --format=json`.
 */
struct schedule_asked {
	uint64_t number;
	struct predict_options predict;
};
#define SCHEDULE_NONE UINT64_MAX /* `number`: no schedule is asked for */
/* clang-format off */
#define SCHEDULE_ASKED_INIT { SCHEDULE_NONE, PREDICT_DEFAULTS }
/* clang-format on */

struct schedule {
	struct reader *reader; /* has the names */
	struct event *ev;
	uint64_t *number; /* the number of each event in the trace */
	size_t n;
	struct finding_list findings; /* only the selected one */
};

/*
 * Reads a schedule. The trace must be a file, because it is read several times. Returns 0, and
 * schedule_free() frees it; or -1 with a sentence in `err`.
 */
int schedule_read(struct schedule *s, const char *path, const struct schedule_asked *asked,
		  bool lenient, struct err *err);
void schedule_free(struct schedule *s);

/*
 * Prints it with a column for each thread that takes part, and the accesses of the finding marked.
 * A long run of one thread's events is shown by its two ends only, unless `all`.
 */
void schedule_show(const struct schedule *s, bool all, FILE *out);

#endif
