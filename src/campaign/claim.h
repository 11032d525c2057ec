/*
 * Which worker does which task. A campaign's tasks are numbered from 1.
 *
 * A worker claims a task by creating the file claims/TASK.ATTEMPT exclusively; the file names the
 * worker. Attempt 0 is the first. If that worker is gone and there is no result, the worker that
 * creates TASK.1 takes the task over, and so on. A claim is never removed, so no two workers can
 * have the same one. A worker that cannot finish a run releases its claim: it changes the name in
 * the file to "released", and the next attempt can begin at once.
 *
 * It can happen that a worker was only slow and finishes after all. Then the task has two results.
 * Both runs took place, and both count.
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_CLAIM_H
#define ATOMSAN_CAMPAIGN_CLAIM_H

#include "campaign/worker.h"

struct claims {
	const struct campaign *c;
	struct worker *w;
	double patience; /* seconds of silence after which a worker is taken for dead */
	struct worker_watch watch;
	uint8_t *state; /* of each task below `cap`: how many attempts are known, CLAIM_DONE */
	size_t cap;
	uint64_t next;     /* the first task that may be new */
	uint64_t attempts; /* attempts at the task that was claimed last, that one included */
	struct str path;   /* the claim */
};
enum { CLAIM_ATTEMPTS_MAX = 100, CLAIM_DONE = 0x80 };

/* `c` and `w` live as long as the claims; without a worker (NULL) they can only be counted. */
void claims_begin(struct claims *k, const struct campaign *c, struct worker *w, double patience);
void claims_end(struct claims *k);

enum claim_answer {
	CLAIM_GOT,  /* *task is ours */
	CLAIM_WAIT, /* other workers have the rest: ask again in a while */
	CLAIM_NONE, /* every task has a result */
	CLAIM_ERROR /* with a sentence */
};

/* Claims a task: a new one, else one whose worker is gone. */
enum claim_answer claims_take(struct claims *k, uint64_t *task, struct err *err);
/* The same, but first one whose worker is gone: for a worker that begins. */
enum claim_answer claims_take_over(struct claims *k, uint64_t *task, struct err *err);
/* Gives the task back that was taken last. */
void claims_release(struct claims *k);

/*
 * Counts the tasks without a result that are claimed, unless it is certain that no worker is
 * at them. Returns 0, or -1 with a sentence.
 */
int claims_count(struct claims *k, uint64_t *pending, struct err *err);

/* Parses the start of a name "TASK.REST"; returns REST, or NULL if it is none. */
const char *claim_parse_task(const char *name, uint64_t *task);

#endif
