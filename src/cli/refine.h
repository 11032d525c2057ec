/*
 * The parts of `atomsan refine`: one run of the program, and what it says
 * against the specification (refine_run.c); what a run leaves behind, found by
 * checking its recordings (refine_check.c). A run has a process of its own, so
 * that several may go on at a time and none can take the command down with it;
 * the answer comes back through a pipe.
 *
 * Who may include this: cmd_refine.c, refine_*.c.
 */
#ifndef ATOMSAN_CLI_REFINE_H
#define ATOMSAN_CLI_REFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "engine/engine.h"
#include "spec/spec.h"

/* A block that a run refuted. */
struct refine_block {
	enum spec_what what; /* SPEC_FUNCTION or SPEC_LABEL */
	char *name;
	char *why;  /* some lines, for a comment */
	bool data;  /* that is about data, not only about locks */
	bool stuck; /* no rule can take it out */
};

struct refine_answer {
	char *error; /* it could not be run at all, or NULL */
	int status;  /* of the program, as waitpid() has it */
	bool timed_out;
	uint64_t recordings; /* processes that recorded */
	char *trouble;       /* the first recording that could not be read to its end, or NULL */
	char *output;        /* the last lines that the program printed, or NULL */
	struct refine_block *v;
	size_t n, cap;
	char **unused; /* rules that matched nothing: "LINE: RULE" */
	size_t nunused, unused_cap;
};
void refine_answer_free(struct refine_answer *a);
/* That block among those, or NULL. */
struct refine_block *refine_find(struct refine_block *v, size_t n, enum spec_what what,
				 const char *name);

struct refine_job {
	char **argv;
	const struct str *spec; /* the text of the specification so far */
	const struct engine_ops *engine;
	unsigned run;     /* which run this is, from 1 */
	uint64_t timeout; /* seconds; 0: none */
	bool show;        /* the program's output goes where ours goes */
	bool online;      /* checked while it runs, and not recorded */
};

/* Start a run; returns its process, or -1. Read the answer from `*fd` to its end. */
pid_t refine_start(const struct refine_job *job, int *fd, struct err *err);
/* Turn what was read into an answer; false where it is not complete. */
bool refine_read(const char *bytes, size_t n, struct refine_answer *out);

/*
 * Check one recording: what is refuted goes to `out`, with what is refuted once
 * that is gone, and so on until it is quiet.
 */
void refine_check(const char *recording, const struct refine_job *job, struct refine_answer *out);
/* Take what `atomsan run --format=json` has written: each block once. */
void refine_take(const char *findings, const struct refine_job *job, struct refine_answer *out);

#endif
