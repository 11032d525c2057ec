/*
 * What the readers of the two formats and the checks in front of them share.
 *
 * Who may include this: reader.c, validate.c, blocks.c, std_read.c, atrace_read.c.
 */
#ifndef ATOMSAN_TRACE_READER_IMPL_H
#define ATOMSAN_TRACE_READER_IMPL_H

#include "trace/blocks.h"
#include "trace/input.h"
#include "trace/reader.h"

struct format_ops {
	const char *name;
	/* Once, with the input at the first byte. */
	void *(*create)(struct reader *r);
	/*
	 * The next events, at most READER_BATCH; 0 at the end. Where something is
	 * wrong: set r->err, return the events before it.
	 */
	int (*next)(struct reader *r, struct event *ev);
	/* The input is at the first byte again; names are still there. */
	void (*rewind)(struct reader *r);
	/* Add where event i of the last batch stands: "file:line", "file: event N". */
	void (*where)(const struct reader *r, int i, struct str *out);
	void (*destroy)(struct reader *r);
};
extern const struct format_ops format_std, format_atrace, format_raw;

/* Do these bytes, the first of a file, begin an .atrace? */
bool atrace_sniff(const char *p, size_t n);
bool raw_sniff(const char *p, size_t n); /* the same for a raw recording */

/* validate.c: what the threads and locks of the trace are doing. */
struct validator {
	struct thread_state *threads;
	size_t threads_cap;
	uint32_t nthreads, running; /* how many have a name; how many of them are running */
	struct lock_state *locks;
	size_t locks_cap;
	struct holders *holders; /* of locks held shared */
	size_t nholders, holders_cap;
	uint32_t free_holders; /* 1 + index of the first free one */
};

/* blocks.c: which functions of a recorded run are blocks. */
struct blocks {
	bool asked, recorded; /* whether it is one */
	struct block_rules *rules;
	struct block_label *labels; /* by strref */
	size_t labels_cap;
	struct table pcs; /* functions and marked blocks: numbers into `functions` */
	struct block_function *functions;
	size_t nfunctions, functions_cap;
	struct block_stack *threads;
	size_t threads_cap;
	uint64_t cut, most_cut; /* in this pass; in an earlier one */
	struct block_left_out *list;
	size_t list_cap;
};

struct reader {
	struct input in;
	struct names names;
	struct names_resolver *resolver; /* for `names`, once they are known to need one */
	struct reader_options opt;
	struct reader_counts counts;
	char *path;
	const struct format_ops *ops;
	void *state;
	struct blocks blocks;
	struct validator check;
	const struct reader_module *modules; /* reader_set_modules() */
	size_t nmodules;
	struct reader_unit *units; /* reader_set_units(); NULL once it was all read */
	size_t nunits;
	struct err err; /* set: deliver no more */
};

void validator_init(struct validator *v);
void validator_free(struct validator *v);

void blocks_free(struct blocks *b);
void blocks_rewind(struct blocks *b);
/* Of a recorded run: take out of ev[0..n) what is no block. */
void blocks_filter(struct reader *r, struct event *ev, int n);

/*
 * Check ev[0..n) and note what they do. Repeated acquires and, where lenient,
 * impossible events become OP_NONE. Returns n, or the index of an impossible
 * event after adding to `what` why it is.
 */
int validate(struct reader *r, struct event *ev, int n, struct str *what);

#endif
