/*
 * A schedule that `predict` found: its events, in its order.
 *
 * Who may include this: commands.
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
 * Which one: finding `number`, counted from 1 in the order of `atomsan predict
 * --vars=VARS --format=json`.
 */
struct schedule_asked {
	uint64_t number;
	struct predict_options predict;
};
#define SCHEDULE_NONE UINT64_MAX /* a number: not asked for */
/* clang-format off */
#define SCHEDULE_ASKED_INIT { SCHEDULE_NONE, PREDICT_DEFAULTS }
/* clang-format on */

struct schedule {
	struct reader *reader; /* has the names */
	struct event *ev;
	uint64_t *number; /* of each event in the trace */
	size_t n;
	struct finding_list findings; /* that one alone */
};

/*
 * The trace is read several times, so it is a file. Returns 0, or -1 with a
 * sentence in `err`; schedule_free() it in the first case.
 */
int schedule_read(struct schedule *s, const char *path, const struct schedule_asked *asked,
		  bool lenient, struct err *err);
void schedule_free(struct schedule *s);

/*
 * Print it as a column for each thread that takes part, the accesses of the
 * finding marked; of a long run of one thread's events only the ends, unless `all`.
 */
void schedule_show(const struct schedule *s, bool all, FILE *out);

#endif
