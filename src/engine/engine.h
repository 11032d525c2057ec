/*
 * An engine takes the events of a trace, one batch after the other, and emits
 * findings. The table in engines.c lists them; the command line, the docs and
 * the tests read that table.
 *
 * To add one: a file in this folder that defines a `const struct engine_ops`,
 * a row in engines.c, a page in docs/engines/, and a brute-force twin in
 * tests/property/ that follows the definition and shares no code with it.
 */
#ifndef ATOMSAN_ENGINE_ENGINE_H
#define ATOMSAN_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/finding.h"
#include "trace/event.h"
#include "trace/names.h"
#include "trace/reader.h"

struct suspects; /* doublechecker/suspects.h */

/* Consecutive events; `first` is the number of ev[0]. */
struct batch {
	const struct event *ev;
	uint32_t n;
	uint64_t first;
	const struct names *names;
};

struct engine_options {
	bool no_merge;    /* velodrome: a node for each operation outside blocks */
	bool blocks_sets; /* blocks: cycles of three and more transactions too */
	bool all;         /* predict: a schedule also for findings that look the same */
	bool two;         /* predict: with two variables too */
	bool lean;        /* predict: one more pass, and memory only for what threads share */
	bool unscheduled; /* predict: findings come without the schedules that were made for them */
	uint64_t effort;  /* predict: steps on the way to schedules, at most; 0: no limit */
	const struct engine_given *given; /* frontier: explain this, and look for no others */
	/* doublechecker: */
	uint64_t icd_block;                 /* how many variables have one owner; 0: one */
	uint64_t log_budget;                /* bytes for logs; 0: the default */
	bool log_repeats;                   /* elide nothing: for tests */
	struct suspects *suspects_out;      /* first run: imprecise only, names blocks here */
	const struct suspects *suspects_in; /* second run: only these */
};

/*
 * Somebody else has found a cycle in a raw recording: it is closed by the last unit of a thread.
 * Of that one, `closing` says which bytes do. `steps` are the cycle's, the last of them by that
 * thread; they are used only where operations do not tell who is to blame and the order of
 * transactions, which depends on which of several cycles was closed first, does not tell the way.
 */
struct engine_given {
	uint32_t thread;
	const struct reader_unit *closing, *steps; /* the reader's answers, after the first pass */
	size_t nclosing, nsteps;
	bool *believed; /* set where `steps` were used for what is found */
};

/* One figure of --format=json's "stats". */
struct engine_stat {
	const char *name;
	uint64_t value;
};
enum { ENGINE_STATS_MAX = 16 };

struct engine_ops {
	const char *name;
	const char *origin;  /* the paper, or "ours" */
	const char *finding; /* what a finding means */
	const char *silence; /* what it means that there is none */
	const char *noun;    /* what it finds, for counting: "atomicity violation" */
	/* It may ask for the trace again: the driver must be able to rewind it. */
	bool second_pass;

	/* Before the first event. Findings go to `sink`, and the options stay, until destroy(). */
	void *(*create)(const struct engine_options *options, struct finding_sink *sink);
	/* For each batch of each pass, in the trace's order; never after finish() returned 0. */
	void (*take)(void *engine, const struct batch *b);
	/*
	 * At the end of each pass, also when the trace broke off. Returns 0 when
	 * done; else the events from 1 to that number are taken once more.
	 */
	uint64_t (*finish)(void *engine);
	/* After the last finish(); fills `stats`, returns how many. */
	size_t (*stats)(void *engine, struct engine_stat stats[ENGINE_STATS_MAX]);
	void (*destroy)(void *engine);
};

extern const struct engine_ops *const engines[]; /* ends with NULL; the first is the default */
const struct engine_ops *engine_by_name(const char *name);

/* What became of a run over a trace. */
struct engine_result {
	const struct engine_ops *ops;
	double seconds;
	struct reader_counts counts; /* of the whole trace: later passes may see a part */
	struct engine_stat stats[ENGINE_STATS_MAX];
	size_t nstats;
	struct finding_list findings;
};

/*
 * Run an engine over a whole trace, with a second pass where it asks for one.
 * Returns 0, or -1 where the trace broke off: then `err` says how, and `out`
 * holds what the events before it gave. `tick` is called now and then with the
 * reader, for a progress line; it may be NULL.
 */
int engine_run(const struct engine_ops *ops, const struct engine_options *options, struct reader *r,
	       bool all, void (*tick)(struct reader *r, int pass), struct engine_result *out,
	       struct err *err);
void engine_result_free(struct engine_result *res);

#endif
