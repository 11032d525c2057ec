/*
 * The result of one run: results/TASK.RUN.json. It is the report that `--format=json` wrote, with
 * one member more at its end, "run". So `atomsan report` can print it.
 *
 * RUN is "WORKER-NUMBER", a name that no other run has, in no campaign. A result is written to tmp/
 * and renamed: it is there as a whole or not at all, and it never changes.
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_RESULT_H
#define ATOMSAN_CAMPAIGN_RESULT_H

#include "campaign/definition.h"
#include "campaign/worker.h"
#include "report/json.h"

struct result {
	const char *run;      /* its name */
	const char *campaign; /* the id */
	uint64_t task;
	double seconds;
	int status;          /* of the command; 128 plus the number of the signal that ended it */
	const char *failure; /* "exited with 3"; NULL: the run was as it should be */
	const char *output;  /* the last that a failed run printed, or NULL */
	const char *spec;    /* the specification that a `refine` wrote, or NULL */
	/* The schedules that an `explore` wrote, as texts. */
	const char *const *schedules; /* to write */
	size_t nschedules;
	const struct json *schedule_list; /* that was read, or NULL */
};

/*
 * Writes the result. `report` is the text of the run's report, which must be one; an empty text
 * stands for a report without findings. `sync`: not before it is on the disk.
 */
int result_write(const struct campaign *c, const struct result *r, const struct str *report,
		 bool sync, struct err *err);

/* Rounds to the digits that are written, so that a sum is the same after writing and reading. */
double result_round(double seconds);

/* Reads the member "run" of a report. The strings live as long as `root`. */
int result_read(struct result *r, const char *path, const struct json *root, struct err *err);

#endif
