/*
 * Options of the engine `predict`.
 *
 * Included by: the files of predict/, the command line, the reporter, tests.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_OPTIONS_H
#define ATOMSAN_ENGINE_PREDICT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct predict_options {
	uint64_t vars;       /* 1, or 2: look at pairs of variables too */
	const char *regions; /* kinds of regions, by name with commas; NULL: all */
	bool only_feasible;  /* hide what is only possible; for the command line, not the engine */
	/* Not on the command line: */
	bool all;           /* a schedule also for findings that look the same */
	bool lean;          /* one more pass, and memory only for what threads share */
	bool ignore_values; /* do not ask whether findings are feasible: events were left out */
	bool unsearched;    /* do not try all orders for feasible schedules, as in long traces */
	bool unscheduled;   /* findings without the schedules that were made for them */
	uint64_t effort;    /* steps on the way to schedules, at most; 0: no limit */
};
/* clang-format off */
#define PREDICT_DEFAULTS { .vars = 2 }
/* clang-format on */

extern const struct opt predict_opts[];

/* Does the engine look at regions of the kind `pair`? */
bool predict_has_pairs(const struct predict_options *o);

/* As an engine's check(). */
int predict_check(const void *options, struct err *err);

#endif
