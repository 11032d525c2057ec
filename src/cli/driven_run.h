/*
 * A driven run of a program: it takes the schedule that a drive file asks for, and is checked. This
 * is what `replay`, `explore` and `confirm` do again and again.
 *
 *	struct drive d;
 *	struct driven_run run = {.argv = argv, .drive = &d, .seconds = 60, .output = -1};
 *
 *	drive_open(&d, &err);
 *	...the plan: sched_plan(), or the fields of d.file...
 *	driven_run(&run, &err);
 *	...run.status, run.ending, run.findings; d.file has what the scheduler did...
 *	driven_run_free(&run);
 *	drive_again(&d);     // and the next run
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_DRIVEN_RUN_H
#define ATOMSAN_CLI_DRIVEN_RUN_H

#include <stdbool.h>

#include "engine/finding.h"
#include "reporter/reporter.h"
#include "sched/drive.h"

enum driven_ending {
	DRIVEN_ENDED,       /* the program ended by itself; `status` says how */
	DRIVEN_DEADLOCK,    /* no thread could run; the program was killed */
	DRIVEN_TOO_LONG,    /* it ran longer than `seconds`: its threads were released, and it was
			       killed    if it did not end then either */
	DRIVEN_NOT_STARTED, /* `status` is 126 or 127, and a sentence was printed */
};

struct driven_run {
	char **argv;
	struct drive *drive;
	double seconds; /* how long it may run */
	int output;     /* descriptor for its output and error messages; -1: the command's own */
	bool predict;   /* also record it, and predict from it */
	/* If set, findings are printed as `atomsan run` does, and `findings` stays empty. */
	const struct reporter_options *print;

	/* Set by driven_run(). */
	enum driven_ending ending;
	int status; /* as a shell has it */
	double took;
	bool instrumented;            /* a process connected to the reporter */
	size_t nfindings;             /* that are shown */
	struct finding_list findings; /* all that count */
};

/* Runs it. Returns 0, or -1 with a sentence if nothing could be run. */
int driven_run(struct driven_run *run, struct err *err);
/* Frees the findings. */
void driven_run_free(struct driven_run *run);
/* Adds "exit 0", "signal 6", "deadlock" or "too long": the outcome in a schedule file. */
void driven_run_outcome(const struct driven_run *run, struct str *to);

#endif
