/*
 * What the readers of the three formats and the two stages after them share: a
 * format delivers events, blocks.c drops what is not a block, validate.c checks
 * that the events can have happened.
 *
 * Included by: reader.c, validate.c, blocks.c, std_read.c, atrace_read.c, raw_impl.h.
 */
#ifndef ATOMSAN_TRACE_READER_IMPL_H
#define ATOMSAN_TRACE_READER_IMPL_H

#include "trace/blocks.h"
#include "trace/input.h"
#include "trace/reader.h"

struct format_ops {
	const char *name;
	/* Called once, with the input at the first byte. Returns r->state. */
	void *(*create)(struct reader *r);
	/*
	 * Fills `ev` with the next events, at most READER_BATCH, and returns how
	 * many; 0 at the end. After an error: sets r->err, and returns the number of
	 * events before it.
	 */
	int (*next)(struct reader *r, struct event *ev);
	/* Called when the input is at the first byte again; r->names keeps its names. */
	void (*rewind)(struct reader *r);
	/* Adds the position of event i of the last batch: "file:line", "file: event N". */
	void (*where)(const struct reader *r, int i, struct str *out);
	void (*destroy)(struct reader *r); /* frees r->state */
};
extern const struct format_ops format_std, format_atrace, format_raw;

/* Return whether a file that begins with these bytes is an .atrace, or a raw recording. */
bool atrace_sniff(const char *p, size_t n);
bool raw_sniff(const char *p, size_t n);

/* validate.c: the current state of the trace's threads and locks. */
struct validator {
	struct thread_state *threads;
	size_t threads_cap;
	uint32_t nthreads, running; /* threads with a name; those of them that are running */
	struct lock_state *locks;
	size_t locks_cap;
	struct holders *holders; /* of locks that are held shared */
	size_t nholders, holders_cap;
	uint32_t free_holders; /* 1 + index of the first free element of `holders` */
};

/* blocks.c: which functions of a recorded run are blocks. */
struct blocks {
	bool asked;    /* `recorded` is set */
	bool recorded; /* this is the trace of a recorded run */
	struct block_rules *rules;
	struct block_label *labels; /* by strref */
	size_t labels_cap;
	struct table pcs; /* text of a PC or a mark -> index in `functions` */
	struct block_function *functions;
	size_t nfunctions, functions_cap;
	struct block_stack *threads;
	size_t threads_cap;
	uint64_t cut,
		most_cut; /* blocks that ended early, in this pass; the most in an earlier one */
	struct block_left_out *list; /* the answer of reader_left_out() */
	size_t list_cap;
};

struct reader {
	struct input in;
	struct names names;
	struct names_resolver *resolver; /* for `names`, if this is a recorded run */
	struct reader_options opt;
	struct reader_counts counts;
	char *path;
	const struct format_ops *ops;
	void *state;
	struct blocks blocks;
	struct validator check;
	const struct reader_module *modules; /* reader_set_modules() */
	size_t nmodules;
	const struct reader_facts *facts; /* reader_set_facts(), or NULL */
	struct reader_unit *units; /* reader_set_units(); NULL when the trace was read once */
	size_t nunits;
	struct err err; /* if set, no more events are delivered */
};

void validator_init(struct validator *v);
void validator_free(struct validator *v);

void blocks_free(struct blocks *b);
void blocks_rewind(struct blocks *b);
/* The function of this label was found not to be a block before the first event of this pass. */
void blocks_leave_out(struct reader *r, strref label);
/* In a recorded run: turns begins and ends in ev[0..n) that are not of a block into OP_NONE. */
void blocks_filter(struct reader *r, struct event *ev, int n);

/*
 * Checks ev[0..n) and keeps track of what they do. Repeated acquires and, with
 * `lenient`, impossible events become OP_NONE. Returns n; or the index of an
 * impossible event, after adding to `what` why it is impossible.
 */
int validate(struct reader *r, struct event *ev, int n, struct str *what);

#endif
