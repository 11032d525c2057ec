/*
 * Reading a trace, of whatever kind, as batches of checked events.
 *
 * The kind (.atrace or STD text, each compressed with zstd or not) is told by
 * the first bytes, not by the name; "-" is standard input. Memory does not
 * grow with the trace, only with the number of names in it.
 *
 * A reader believes nothing: whatever the bytes, it delivers the events before
 * the first thing that is wrong, and then one sentence that says where and
 * what: "file:line: ..." for text, "file: offset N: ..." for .atrace.
 *
 * It is also wrong if an event cannot have happened: a release of a lock that
 * the thread does not hold; an end without a begin; an acquire of a lock that
 * another thread holds; an event of a thread before its fork or after its join;
 * a second fork of a thread. With `lenient` such events become OP_NONE and are
 * counted instead.
 */
#ifndef ATOMSAN_TRACE_READER_H
#define ATOMSAN_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"
#include "trace/names.h"

/* 1024 events are 16 KiB: half of a first-level cache. */
enum { READER_BATCH = 1024 };

struct reader_options {
	bool count_ops;    /* fill in counts.op */
	bool lenient;      /* skip impossible events, and count them */
	bool keep_repeats; /* deliver repeated acquires and their releases as they stand */
	bool all_blocks;   /* recorded runs: every function, as the file has it; see blocks.h */
	bool unfinished;   /* raw recordings: the run goes on, and what is held at the end is just
			      held */
	bool rewindable;   /* reader_rewind() may be called, also on a pipe */
};

/* What has been delivered so far. */
struct reader_counts {
	uint64_t events;       /* all of the trace's, whatever became of them */
	uint64_t transactions; /* outermost blocks begun */
	uint64_t blocks;       /* blocks begun, of any depth */
	uint64_t skipped;      /* impossible, with `lenient` */
	uint64_t repeats;      /* repeated acquires, and their releases */
	uint64_t op[OP_COUNT]; /* by operation, with `count_ops`; OP_NONE: those dropped */
};

struct reader;

/* NULL, with the sentence in `err`, where it cannot be opened or is neither kind. */
struct reader *reader_open(const char *path, const struct reader_options *options, struct err *err);
/* The same of an open file, which is the reader's from now on, also where this fails. */
struct reader *reader_open_fd(int fd, const char *path, const struct reader_options *options,
			      struct err *err);
void reader_close(struct reader *r);

/*
 * Fill `ev` with the next events, at most READER_BATCH of them, and return how
 * many; 0 at the end; -1 where something is wrong, after everything before it
 * has been delivered, with the sentence in `err`.
 */
int reader_next(struct reader *r, struct event *ev, struct err *err);

/* Start again from event 1. Numbers of names stay as they were. */
int reader_rewind(struct reader *r, struct err *err);

/* The names known so far: every number in a delivered event is in there. */
const struct names *reader_names(const struct reader *r);
/*
 * Show names by this resolver if the trace turns out to be a recorded run (recorded.h): the names
 * of any other trace never have one. The caller keeps it until the reader is gone.
 */
void reader_set_resolver(struct reader *r, struct names_resolver *resolver);
struct names_resolver *reader_resolver(const struct reader *r); /* that one, used or not */
/*
 * A raw recording that begins in the middle of a run does not say what was loaded before: these
 * were. `text` is that of RAW_MODULE (raw_format.h). Before the first event is read; the caller
 * keeps them until the reader is gone.
 */
struct reader_module {
	uint64_t bias;
	const char *text;
	size_t len;
};
void reader_set_modules(struct reader *r, const struct reader_module *modules, size_t n);
/*
 * Of a raw recording: which events came of some units. Said before the first event is read; the
 * caller keeps them until the whole was read once, and then has the answers.
 */
struct reader_unit {
	uint32_t thread;
	uint8_t op;        /* enum raw_op; 0: the thread's last unit, whatever it is */
	bool on_lock;      /* the caller's */
	uint64_t time, pc; /* where it is not the last */
	uint64_t
		address; /* of an access of several variables: the one of this byte; 0: the first */
	uint64_t event;  /* the answer; 0: there is no such unit, or nothing came of it */
};
void reader_set_units(struct reader *r, struct reader_unit *units, size_t n);
const struct reader_counts *reader_counts(const struct reader *r);
const char *reader_path(const struct reader *r);
/* "std" or "atrace", and whether the whole file is inside a zstd frame. */
const char *reader_format(const struct reader *r, bool *compressed);

/* How far it is, for a progress line: bytes read, and bytes in all or 0 where unknown. */
void reader_progress(const struct reader *r, uint64_t *done, uint64_t *total);

#endif
