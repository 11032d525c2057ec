/*
 * A campaign: one command that is run many times, by many workers, on any number of machines. All
 * that it consists of is a folder:
 *
 *	campaign.json   the definition: what to run, where, how often
 *	claims/         one file for each attempt at a task: claim.h
 *	workers/        one file per worker, which the worker keeps changing: worker.h
 *	results/        one file per run: result.h
 *	tmp/            files that are being written
 *
 * Any number of processes may use the folder at the same time, also through a network file system.
 * Nothing relies on locks, on the order of files or on the clocks of machines: a file is created
 * exclusively or renamed, and it is never changed afterwards (except by the worker that owns it).
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_DEFINITION_H
#define ATOMSAN_CAMPAIGN_DEFINITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { CAMPAIGN_TASKS_MAX = 100000000 };

/* What is done with the command's program. */
enum campaign_kind {
	CAMPAIGN_RUN,
	CAMPAIGN_PREDICT,
	CAMPAIGN_REFINE,
	CAMPAIGN_EXPLORE,
	CAMPAIGN_KINDS
};
extern const char *const campaign_kind_names[CAMPAIGN_KINDS];

struct campaign {
	const char *path;     /* of the folder, as given; the caller's */
	char id[17];          /* 16 hexadecimal digits, the same in every copy of the folder */
	const char *folder;   /* where the command is run */
	const char **command; /* the words: "run", options, the program, its arguments; then NULL */
	size_t nwords;
	enum campaign_kind kind; /* of command[0] */
	uint64_t tasks;          /* how many runs it has; 0: no end */
	uint64_t limit;          /* seconds after which a worker begins no new run; 0: none */
	uint64_t timeout;        /* seconds after which a run is ended; 0: never */
	struct arena arena;
};

/* Finds the kind of a command by its first word; false if that is not one. */
bool campaign_find_kind(const char *word, enum campaign_kind *kind);

/* Fills in `c` from the folder's definition; campaign_free() releases it. `path` must outlive it.
 */
int campaign_open(struct campaign *c, const char *path, struct err *err);
/* The same from a text; `name` is for messages. */
int campaign_parse(struct campaign *c, const char *name, const char *text, size_t n,
		   struct err *err);
void campaign_free(struct campaign *c);

/*
 * Makes the folder c->path a campaign with this definition; the id is chosen here. If it is one
 * with the same command and folder, it only gets the new tasks, limit and timeout, and `*had` is
 * set. Returns 0, or -1 with a sentence.
 */
int campaign_create(struct campaign *c, bool *had, struct err *err);

/* Sets `out` to the path of something in the folder: "night/results/x.json". */
void campaign_path(const struct campaign *c, struct str *out, const char *part, const char *name);

/* Adds the command as a shell would take it: run ./test 'two words'. */
void campaign_add_words(struct str *out, const char *const *words);

/* Reads "90", "15m", "8h" or "2d" as seconds. Returns 0, or -1 if it is none of these. */
int campaign_seconds(const char *text, uint64_t *seconds);

#endif
