/*
 * A raw recording (raw_format.h), thread by thread: which chunks each has, and
 * its units one after the other, decoded.
 *
 * Believes nothing: whatever the bytes, there are units or a sentence.
 *
 * Who may include this: the reader of raw recordings, the commands that serve a running program.
 */
#ifndef ATOMSAN_TRACE_RAW_FILE_H
#define ATOMSAN_TRACE_RAW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/raw_format.h"

/* A thread's chunks, in their order; its number is its index. */
struct raw_thread {
	const struct raw_chunk **chunk;
	size_t n, cap;
};

struct raw_file {
	const char *bytes;
	size_t size;
	const struct raw_header *header;
	struct raw_thread *threads;
	size_t nthreads, threads_cap;
};

/* The bytes must stay. -1: `err` says where and what, without the file's name. */
int raw_file_open(struct raw_file *f, const char *bytes, size_t size, struct err *err);
void raw_file_close(struct raw_file *f);

/* A unit. `size` and `text` where the operation has one. */
struct raw_item {
	enum raw_op op;
	uint32_t aux;
	uint64_t address, time, pc, size;
	const char *text; /* not terminated */
	size_t text_len;
};

/* Where a reader of one thread is. */
struct raw_cursor {
	const struct raw_thread *thread;
	size_t next_chunk;
	const struct raw_unit *at, *end;
	uint64_t base, pc_high, last;
	bool broken; /* the thread's chunks make no sense from here on */
};
void raw_cursor_init(struct raw_cursor *c, const struct raw_thread *thread);

/* The next unit; false at the end, also where c->broken says why. */
bool raw_cursor_next(struct raw_cursor *c, struct raw_item *item);

#endif
