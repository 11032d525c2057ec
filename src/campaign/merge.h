/*
 * Runs of campaigns, collected from folders and from files that were merged before.
 *
 * A run is identified by its name, and a finding by its engine and fingerprint. What is collected
 * is a set of runs; everything else follows from that set. So it does not matter in which order
 * runs are added, or whether some are added twice: merging is commutative, associative and
 * idempotent. Runs have an order, too: by task, then campaign, then name. The *first* run with a
 * finding is the first in that order, and its finding stands for the others.
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_MERGE_H
#define ATOMSAN_CAMPAIGN_MERGE_H

#include "base/map.h"
#include "campaign/result.h"

struct merge_run {
	const char *name, *campaign, *failure, *output;
	uint64_t task;
	double seconds;
	int status;
	struct merge_seen {
		uint32_t finding; /* index */
		uint64_t count;   /* how often in this run */
	} * seen;
	size_t nseen;
	uint32_t *rules; /* indices of what a `refine` removed */
	size_t nrules;
	const char *schedule; /* under which the program failed, or NULL */
};

struct merge_finding {
	uint32_t engine;
	uint64_t fingerprint;
	struct finding *f;          /* of the run `first`; NULL: only its fingerprint is known */
	struct merge_run first;     /* only what orders runs */
	const char *schedule;       /* that shows it, or NULL: a file for `atomsan replay` */
	struct merge_run scheduled; /* the first run with one */
};

/* An engine that was at work in some run. */
struct merge_engine {
	const struct engine_ops *ops;
	struct engine_ops *own;        /* if this atomsan does not know it */
	uint64_t hidden[HIDDEN_KINDS]; /* the most that one run left out */
};

/* A rule that a `refine` added to the specification: "exclude function deposit". */
struct merge_rule {
	const char *text, *why; /* `why`: the comment above it, or "" */
	struct merge_run first;
};

/* What is known of a campaign that runs come from. */
struct merge_campaign {
	const char *id, *command;
	uint64_t tasks;   /* 0: no end */
	const char *head; /* of the specification that its `refine` starts from; or NULL */
};

struct merge {
	struct merge_run *runs;
	size_t nruns, runs_cap;
	struct merge_finding *findings;
	size_t nfindings, findings_cap;
	struct merge_engine *engines;
	size_t nengines, engines_cap;
	struct merge_rule *rules;
	size_t nrules, rules_cap;
	struct merge_campaign *campaigns;
	size_t ncampaigns, campaigns_cap;
	struct map run_index, finding_index; /* from hashes; from engine and fingerprint */
	size_t damaged;                      /* files that were skipped */
	struct arena arena;
};

/* Zeroed memory is an empty merge. */
void merge_free(struct merge *m);

/*
 * Adds all results of a campaign's folder, or a file that `campaign merge --format=json` wrote.
 * Returns 0, or -1 with a sentence about the first file that cannot be read. `lenient`: such files
 * are counted instead.
 */
int merge_add(struct merge *m, const char *path, bool lenient, struct err *err);

/* Adds one result, or one merged file, from a text. `name` is for messages. */
int merge_add_text(struct merge *m, const char *name, const char *text, size_t n, struct err *err);

/* The order of runs, for qsort(). */
int merge_compare_runs(const void *a, const void *b);

/* Puts runs, engines, rules and campaigns into their order. Call it once, after all was added. */
void merge_sort(struct merge *m);

#endif
