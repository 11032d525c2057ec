/*
 * The parts of `atomsan campaign`: cmd_campaign.c has the options and the small verbs,
 * campaign_work.c the worker, campaign_task.c one run, campaign_job.c Slurm and GNU parallel.
 *
 * Included by: cmd_campaign.c, campaign_*.c.
 */
#ifndef ATOMSAN_CLI_CAMPAIGN_H
#define ATOMSAN_CLI_CAMPAIGN_H

#include <signal.h>

#include "campaign/claim.h"
#include "campaign/result.h"
#include "cli/cli.h"

extern const struct command cmd_campaign; /* main.c lists it */

/* --- one run --- */

struct task {
	const struct campaign *c;
	struct worker *w;
	uint64_t number;
	const volatile sig_atomic_t *stop; /* end the run, without a result */
	/* What came of it. */
	struct result result;
	struct str report; /* the text of its report; empty if there is none */
	char **schedules;  /* texts of those that an `explore` wrote */
	size_t nschedules, schedules_cap;
	struct str spec, failure, output, name;
	bool has_report;
	size_t findings;
};

/* Makes the run. Returns 0, or -1 if it could not even be started. task_free() releases it. */
int task_run(struct task *t, struct err *err);
void task_free(struct task *t);

/* --- verbs --- */

struct work_options {
	uint64_t jobs, runs, patience, limit; /* runs, limit: 0 is none */
	bool no_wait, quiet;
	const char *folder; /* instead of the definition's */
};
/* Returns the exit code. */
int campaign_work(const char *path, const struct work_options *o);

/* Print what a batch system takes, or give it to the system. `more`: words for its own options. */
int campaign_slurm(const char *path, uint64_t jobs, bool submit, char **more);
int campaign_parallel(const char *path, uint64_t jobs, bool submit, char **more);

/* The path of this program; NULL if the system does not say. The caller frees it. */
char *campaign_self(void);

#endif
