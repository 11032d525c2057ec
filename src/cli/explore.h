/*
 * Exploring: runs a program under many schedules. cmd_explore.c has the options and prints;
 * explore.c runs; explore_dfs.c enumerates all schedules with few preemptions.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_EXPLORE_H
#define ATOMSAN_CLI_EXPLORE_H

#include "cli/driven_run.h"
#include "sched/sched.h"

enum explore_strategy {
	EXPLORE_MIX, /* the others by turns */
	EXPLORE_RANDOM,
	EXPLORE_WALK,
	EXPLORE_PCT,
	EXPLORE_POS,
	EXPLORE_DFS,
};

struct explore_options {
	enum explore_strategy strategy;
	uint64_t seed, schedules, depth, preemptions;
	double seconds;     /* for all runs; 0: no limit */
	double run_seconds; /* for one */
	bool all_accesses;
	bool first; /* stop at the first failure or violation */
	const char *folder, *setup, *teardown;
	int quiet;
};

/* What was found in a schedule. */
struct explore_hit {
	struct sched sched;
	bool failure;
	char *outcome;
	uint64_t number; /* of the schedule, from 1 */
};

struct explore_result {
	uint64_t schedules, violations, failures, behaviours, steps, left;
	bool exhausted; /* all schedules within the bound were run */
	bool started, controlled, instrumented;
	uint32_t threads;
	struct explore_hit *hit; /* the first of each kind */
	size_t nhits, hit_cap;
	struct finding_list findings; /* each once */
	double seconds;
};

/* Runs the schedules. Returns 0, or -1 with a sentence. explore_free() frees the result. */
int explore_run(const struct explore_options *o, char **argv, struct explore_result *to,
		struct err *err);
void explore_free(struct explore_result *r);

/* --- explore_dfs.c --- */

/*
 * Depth-first search: which schedules were run, and which are left, as a path of choices. Each
 * schedule with at most so many preemptions is run once.
 */
struct dfs;
struct dfs *dfs_new(uint64_t preemptions);
void dfs_free(struct dfs *d);
/* Writes the next schedule into the plan. */
void dfs_plan(const struct dfs *d, struct drive_file *f);
/* Takes what the run did, and moves on. Returns false if no schedule is left. */
bool dfs_next(struct dfs *d, const struct drive_file *f);

#endif
