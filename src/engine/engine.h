/*
 * An engine takes the events of a trace, batch after batch, and emits findings. The
 * table in engines.c lists the engines; the command line, the documents and the
 * tests read that table.
 *
 * To add an engine: a file that defines a `const struct engine_ops`, in a folder
 * below this one; a row in engines.c; a page in docs/engines/; and a brute-force
 * twin in tests/property/ that follows the definition and shares no code with the
 * engine.
 */
#ifndef ATOMSAN_ENGINE_ENGINE_H
#define ATOMSAN_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "engine/finding.h"
#include "trace/event.h"
#include "trace/names.h"
#include "trace/reader.h"

/* Consecutive events; `first` is the number of ev[0]. */
struct batch {
	const struct event *ev;
	uint32_t n;
	uint64_t first;
	const struct names *names;
};

/* One figure of --format=json's "stats". */
struct engine_stat {
	const char *name;
	uint64_t value;
};
enum { ENGINE_STATS_MAX = 24 };

struct engine_ops {
	const char *name;
	const char *origin;  /* the paper, or "ours" */
	const char *finding; /* what a finding means */
	const char *silence; /* what it means that there is none */
	const char *noun;    /* what it counts: "atomicity violation" */
	/* It may need the trace again: the caller must be able to rewind it. */
	bool second_pass;

	/*
	 * An engine's options are a struct of its own, declared in the options.h of its folder.
	 * `opts` describes the fields that the command line can set (OPT_FIELD of base/opt.h), NULL
	 * if there are none; `defaults` is such a struct, NULL for an engine without options.
	 */
	const struct opt *opts;
	const void *defaults;
	/* Checks values that were set by `opts`; 0, or -1 with a sentence in `err`. May be NULL. */
	int (*check)(const void *options, struct err *err);

	/*
	 * Called before the first event, by engine_create(). Findings go to `sink`. Both `options`
	 * and `sink` stay valid until destroy().
	 */
	void *(*create)(const void *options, struct finding_sink *sink);
	/* Called for each batch of each pass, in the trace's order; never after finish() returned
	 * 0. */
	void (*take)(void *engine, const struct batch *b);
	/*
	 * Called at the end of each pass, also if the trace broke off. Returns 0 when the
	 * engine is done; otherwise the number of the last event of the next pass, which
	 * begins with event 1 again.
	 */
	uint64_t (*finish)(void *engine);
	/* Called after the last finish(). Fills in `stats` and returns how many there are. */
	size_t (*stats)(void *engine, struct engine_stat stats[ENGINE_STATS_MAX]);
	void (*destroy)(void *engine);
};

extern const struct engine_ops *const engines[]; /* ends with NULL; the first is the default */
const struct engine_ops *engine_by_name(const char *name);
/* Call create(), with the engine's defaults if `options` is NULL. */
void *engine_create(const struct engine_ops *ops, const void *options, struct finding_sink *sink);

/* What `explore` adds to the result of its runs; all 0 otherwise. */
struct engine_explored {
	uint64_t schedules, violations,
		failures; /* schedules; those with a violation; failed ones */
	bool exhausted;   /* all schedules within the bound were run */
};

/* The result of running an engine over a trace. */
struct engine_result {
	const struct engine_ops *ops;
	double seconds;
	struct reader_counts counts; /* of the whole trace: later passes may read only a part */
	struct engine_stat stats[ENGINE_STATS_MAX];
	size_t nstats;
	struct engine_explored explored;
	struct finding_list findings;
};

/*
 * Run an engine over a whole trace, with as many passes as it needs. `options` is
 * the engine's own struct, or NULL for its defaults; `all` keeps findings with equal
 * fingerprints. Returns 0, or -1 if the trace broke off: then `err` says how, and
 * `out` holds the result for the events before that. `tick` is called now and then
 * with the reader, for a progress line; it may be NULL.
 */
int engine_run(const struct engine_ops *ops, const void *options, struct reader *r, bool all,
	       void (*tick)(struct reader *r, int pass), struct engine_result *out,
	       struct err *err);
void engine_result_free(struct engine_result *res);

#endif
