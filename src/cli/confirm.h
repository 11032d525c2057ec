/*
 * Confirming a predicted finding: drive the program so that one thread is held between its two
 * steps until the other thread has done what comes between, and let the check decide.
 *
 * Included by: cmd_confirm.c, confirm*.c.
 */
#ifndef ATOMSAN_CLI_CONFIRM_H
#define ATOMSAN_CLI_CONFIRM_H

#include "cli/driven_run.h"
#include "engine/finding.h"
#include "sched/sched.h"

struct confirm_options {
	uint32_t runs;      /* driven runs for a finding, at most */
	double seconds;     /* for one run */
	double until;       /* clock_seconds() at which to give up */
	const char *folder; /* for schedules */
	char **argv;        /* the program */
};

/* A run, and what it printed. */
struct confirm_run {
	struct driven_run run;
	struct str outcome; /* "exit 0" */
	struct str output;
};

/* Tries one finding after the other, with one drive file. */
struct confirm {
	const struct confirm_options *o;
	struct drive drive;
	int output; /* a file in memory for what the program prints */
	/* The run without preemption, and its log of all steps. */
	struct confirm_run first;
	struct drive_step *log;
	size_t nlog, log_cap;
	bool controlled, started, instrumented;
};

int confirm_open(struct confirm *c, const struct confirm_options *o, struct err *err);
void confirm_close(struct confirm *c);

/*
 * Tries to confirm the finding, and sets f->confirm; if it was confirmed, also its status. Returns
 * 0, or -1 with a sentence if the program could not be run.
 */
int confirm_finding(struct confirm *c, struct finding *f, struct err *err);

/* For confirm_harm.c: runs the program as the drive file's plan says. */
int confirm_run(struct confirm *c, struct confirm_run *to, struct err *err);
void confirm_run_free(struct confirm_run *r);

/*
 * Compares the confirmed run with the program's runs in which the two threads follow each other, in
 * both orders, and sets the finding's harm.
 */
int confirm_judge_harm(struct confirm *c, const struct confirm_run *cut, uint32_t a, uint32_t b,
		       struct finding *f, struct err *err);

#endif
