/*
 * The parts of `atomsan refine`: one run of the program (refine_run.c); which blocks it
 * refutes, found by checking its recordings (refine_check.c); and which pairs of accesses it did
 * not cut (refine_learn.c). Each run has its own process, so that
 * several can run at a time and none can crash the command. The answer comes back through a pipe.
 *
 * Included by: cmd_refine.c, refine_*.c.
 */
#ifndef ATOMSAN_CLI_REFINE_H
#define ATOMSAN_CLI_REFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/str.h"
#include "engine/engine.h"
#include "spec/spec.h"

/* A block that a run refuted. */
struct refine_block {
	enum spec_what what; /* SPEC_FUNCTION or SPEC_LABEL */
	char *name;
	char *why;                /* some lines, for a comment */
	char *reason;             /* for its class: a clause */
	enum finding_class class; /* of the best finding; CLASS_UNKNOWN: it only calls such a block
				   */
	bool data;                /* `why` is about data, not only about locks */
	bool stuck;               /* no rule can remove it */
	unsigned run;             /* that refuted it first */
};

/* The sections in which removed blocks are listed. */
enum refine_section { REFINE_LIKELY, REFINE_OTHERS, REFINE_UNLIKELY, REFINE_SECTIONS };
static inline enum refine_section refine_section(const struct refine_block *b)
{
	if (b->class >= CLASS_STALE_WRITE && b->class <= CLASS_SEVERAL)
		return REFINE_LIKELY;
	return b->class <= CLASS_LOCK_ORDER ? REFINE_OTHERS : REFINE_UNLIKELY;
}

/* For sorting: negative if `a` is more worth reading than `b`. */
static inline int refine_compare(const struct refine_block *a, const struct refine_block *b)
{
	int x = a->class ? (int)a->class : CLASSES, y = b->class ? (int)b->class : CLASSES;

	return x - y;
}

/* A pair of accesses (report/learned.h), in how many runs it was, and whether one cut it. */
struct refine_pair {
	char *text;
	unsigned runs;
	bool cut;
};
struct refine_pairs {
	struct refine_pair *v;
	size_t n, cap;
	struct map by_text; /* hash -> index */
};
void refine_add_pair(struct refine_pairs *pairs, const char *text, bool cut, unsigned runs);
void refine_pairs_free(struct refine_pairs *pairs);

struct refine_answer {
	char *error; /* why it could not be run at all, or NULL */
	int status;  /* the program's, as waitpid() returns it */
	bool timed_out;
	uint64_t recordings; /* number of processes that recorded */
	char *trouble;       /* why a recording could not be read to its end, or NULL */
	char *output;        /* the last lines that the program printed, or NULL */
	struct refine_block *v;
	size_t n, cap;
	char **unused; /* rules that matched nothing: "LINE: RULE" */
	size_t nunused, unused_cap;
	struct refine_pairs pairs; /* of the recordings; each was in one run */
};
void refine_answer_free(struct refine_answer *a);
/* Returns that block among those, or NULL. */
struct refine_block *refine_find(struct refine_block *v, size_t n, enum spec_what what,
				 const char *name);

struct refine_job {
	char **argv;
	const struct str *spec; /* the text of the specification so far */
	const struct engine_ops *engine;
	unsigned run;     /* number of the run, from 1 */
	uint64_t timeout; /* in seconds; 0: none */
	bool show;        /* show the program's output */
	bool online;      /* check the program while it runs, without a recording */
};

/* Starts a run. Returns its process, or -1. Read the answer from `*fd` to its end. */
pid_t refine_start(const struct refine_job *job, int *fd, struct err *err);
/* Turns what was read into an answer. Returns false if it is not complete. */
bool refine_read(const char *bytes, size_t n, struct refine_answer *out);

/*
 * Checks one recording. Refuted blocks are added to `out`, then those that are refuted without
 * them, and so on until the recording is quiet.
 */
void refine_check(const char *recording, const struct refine_job *job, struct refine_answer *out);
/* Adds the pairs of accesses that the recording has; refine_learn.c. */
void refine_learn(struct reader *r, struct refine_answer *out);
/* Takes the refuted blocks, each once, from what `atomsan run --format=json` has written. */
void refine_take(const char *findings, const struct refine_job *job, struct refine_answer *out);

#endif
