/*
 * Reads a trace of any format as batches of checked events.
 *
 * The first bytes decide the format, not the name: .atrace, STD text or a raw
 * recording, each compressed with zstd or not. "-" is standard input. For .atrace
 * and STD text, memory does not grow with the trace, only with the number of names
 * in it; a raw recording is mapped, or kept in memory if it is a pipe or compressed.
 *
 * The bytes are not trusted: whatever they are, the reader delivers the events
 * before the first error, and then one sentence that says where it is and what
 * it is: "file:line: ..." for text, "file: offset N: ..." for the other formats.
 *
 * An event that cannot have happened is an error too: a release of a lock that
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
	bool lenient;      /* turn impossible events into OP_NONE, and count them */
	bool keep_repeats; /* deliver repeated acquires and their releases as they are */
	bool all_blocks;   /* recorded runs: every function is a block; see blocks.h */
	bool unfinished;   /* raw recordings: the program still runs, so a semaphore that is held
			      at the end may still be a lock */
	bool rewindable;   /* reader_rewind() will be called, perhaps on a pipe */
};

/* What has been delivered so far. */
struct reader_counts {
	uint64_t events;       /* all events, OP_NONE included */
	uint64_t transactions; /* outermost blocks begun */
	uint64_t blocks;       /* blocks begun, at any depth */
	uint64_t skipped;      /* impossible events, with `lenient` */
	uint64_t repeats;      /* repeated acquires, and their releases */
	uint64_t op[OP_COUNT]; /* events by operation, with `count_ops`; OP_NONE: dropped ones */
};

struct reader;

/* Returns a reader, for reader_close(); NULL, with a sentence in `err`, if the file cannot be
 * opened. */
struct reader *reader_open(const char *path, const struct reader_options *options, struct err *err);
/* The same for an open file. Takes over fd, even if it fails; `path` is for messages. */
struct reader *reader_open_fd(int fd, const char *path, const struct reader_options *options,
			      struct err *err);
void reader_close(struct reader *r);

/*
 * Fills `ev` with the next events, at most READER_BATCH, and returns how many; 0 at
 * the end; -1, with a sentence in `err`, if there is an error and every event
 * before it has been delivered.
 */
int reader_next(struct reader *r, struct event *ev, struct err *err);

/* Goes back to event 1; names keep their numbers. Returns 0, or -1 with a sentence in `err`. */
int reader_rewind(struct reader *r, struct err *err);

/* Returns the names so far: they have every number of a delivered event. The reader owns them. */
const struct names *reader_names(const struct reader *r);
/*
 * The names use this resolver if the trace turns out to be a recorded run (recorded.h); the names
 * of any other trace never have one. It stays the caller's and must outlive the reader.
 */
void reader_set_resolver(struct reader *r, struct names_resolver *resolver);
struct names_resolver *reader_resolver(const struct reader *r); /* that one, used or not */
/*
 * The modules that were loaded before a raw recording began, if it begins in the middle of a run.
 * `text` is that of RAW_MODULE (raw_format.h). Call this before the first event is read; the array
 * stays the caller's and must outlive the reader.
 */
struct reader_module {
	uint64_t bias;
	const char *text;
	size_t len;
};
void reader_set_modules(struct reader *r, const struct reader_module *modules, size_t n);
/*
 * What is known about the time before such a recording begins. These facts make no events. The
 * facts about a thread hold from before its first unit on. Call reader_set_facts() before the first
 * event is read; the facts stay the caller's and must outlive the reader.
 */
struct reader_label {
	uint64_t number;
	const char *text;
	size_t len;
};
struct reader_thread {
	uint32_t number;
	bool left_start;            /* the thread has left its start function */
	uint64_t stack, stack_size; /* size 0: unknown */
	const char *name;
	size_t name_len;
};
/* The creation of a thread, or an allocation. */
struct reader_origin {
	uint64_t address; /* of the allocation; or the number of the created thread */
	uint64_t size;    /* of the allocation */
	uint64_t pc;
	uint32_t thread;       /* the creator or allocator */
	const uint64_t *calls; /* program counters of the calls that led there, outermost first */
	size_t ncalls;
};
struct reader_facts {
	const struct reader_module *modules;
	const struct reader_label *labels;
	const uint64_t *not_blocks; /* addresses in functions that were already left out */
	const struct reader_thread *threads;
	const struct reader_origin *creations, *allocations;
	size_t nmodules, nlabels, nnot_blocks, nthreads, ncreations, nallocations;
};
void reader_set_facts(struct reader *r, const struct reader_facts *facts);
/*
 * Asks which events some units of a raw recording have become. Call this before the first event is
 * read; the array stays the caller's, and has the answers when the whole trace was read once.
 */
struct reader_unit {
	uint32_t thread;
	uint8_t op;        /* enum raw_op; 0: the thread's last unit, whatever it is */
	bool on_lock;      /* for the caller's use */
	uint64_t time, pc; /* of the unit; not used if `op` is 0 */
	uint64_t address;  /* if the unit accesses several variables: a byte of the one asked for;
			      0: the first */
	uint64_t event;    /* the answer; 0: there is no such unit, or it has no event */
};
void reader_set_units(struct reader *r, struct reader_unit *units, size_t n);
const struct reader_counts *reader_counts(const struct reader *r);
const char *reader_path(const struct reader *r);
/* Returns "std", "atrace" or "raw recording"; sets whether the file as a whole is compressed. */
const char *reader_format(const struct reader *r, bool *compressed);

/* Sets the bytes read so far, and those of the whole file or 0 if unknown: for a progress line. */
void reader_progress(const struct reader *r, uint64_t *done, uint64_t *total);

#endif
