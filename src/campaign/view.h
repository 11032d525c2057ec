/*
 * What a merge shows: its findings as a report, with how often and when first each was seen.
 *
 *	view_begin(&v, &m);			the lists of findings
 *	view_forget(&v, "known.json", &err);	without what is known, if asked for
 *	...					without what is suppressed: the caller
 *	view_rank(&v, verbose);			ranks, counts, estimate
 *
 * Findings with the same cause (report/shown.h) are one row. A run *has* a row if it has any of its
 * findings.
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_VIEW_H
#define ATOMSAN_CAMPAIGN_VIEW_H

#include "campaign/estimate.h"
#include "campaign/merge.h"
#include "report/report.h"

struct view_row {
	uint32_t engine;
	uint32_t rank;
	const struct finding *f; /* the one that stands for it */
	uint64_t runs;           /* that have it */
	uint64_t first;          /* position of the first of them, from 1 */
	const char *schedule;    /* the first that shows one of its findings, or NULL */
	const struct merge_finding *scheduled; /* that finding */
};

/* A run that brought something new. */
struct view_point {
	uint64_t run, findings; /* its position; rows seen up to there */
};

struct view {
	struct report rep; /* must be first: formats get a pointer to it */
	struct merge *m;
	struct engine_result *results; /* one per engine of the merge */
	struct view_row *rows;
	size_t nrows;
	struct view_point *points;
	size_t npoints;
	struct estimate estimate;
	double seconds;   /* of all runs */
	uint64_t failed;  /* runs */
	uint64_t tasks;   /* of all campaigns; 0: one has no end */
	uint64_t done;    /* tasks with a result */
	uint64_t workers; /* processes that made the runs */
	uint64_t known;   /* causes that view_forget() left out */
	struct str title;
};

/* Sorts the merge. The findings are the view's from now on; `m` must outlive it. */
void view_begin(struct view *v, struct merge *m);
void view_free(struct view *v);

/*
 * Leaves out what a saved report has: findings with the same engine and fingerprint, and all that
 * have the same cause as one there.
 */
int view_forget(struct view *v, const char *path, struct err *err);

void view_rank(struct view *v, bool verbose);

/* How many rows make a command fail. */
size_t view_count(const struct view *v);

/* The text format: an overview, then the findings. The others are those of report/report.h. */
extern const struct report_format view_text_format;
/* Adds the overview as text: progress, estimate, failed runs. */
void view_add_overview(const struct view *v, struct str *b);

/*
 * Writes a file for each row that has a schedule, FOLDER/RANK-FINGERPRINT.sched, and
 * FOLDER/failure-RUN.sched for each failed run that has one. Sets *n to how many there are. Returns
 * 0, or -1 with a sentence.
 */
int view_write_schedules(const struct view *v, const char *folder, size_t *n, struct err *err);

/* The member "campaign" of the JSON form: merge_add() reads it. For report.more. */
void view_emit(struct json_emit *j, const struct report *rep);

/* Adds the specification that the refine runs of a campaign wrote, merged: the union of its rules.
 */
void view_add_spec(const struct view *v, struct str *b);

#endif
