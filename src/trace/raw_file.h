/*
 * A raw recording (raw_format.h), thread by thread: the chunks of each thread,
 * and its units one after the other, decoded.
 *
 * The bytes are not trusted: whatever they are, the result is units or a
 * sentence that says what is wrong.
 *
 * Included by: raw_file.c, raw_impl.h, the reporter, tests.
 */
#ifndef ATOMSAN_TRACE_RAW_FILE_H
#define ATOMSAN_TRACE_RAW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/raw_format.h"

/* A thread's chunks, in their order. Threads are numbered by their index in raw_file. */
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

/*
 * The bytes stay the caller's and must outlive `f`. Returns 0, or -1 with a sentence in `err` that
 * gives the offset but not the file's name.
 */
int raw_file_open(struct raw_file *f, const char *bytes, size_t size, struct err *err);
void raw_file_close(struct raw_file *f);

/* A decoded unit; `size` and `text` only if the operation has one. */
struct raw_item {
	enum raw_op op;
	uint32_t aux;
	uint8_t value; /* of the memory after an access; RAW_READ1 is made a RAW_READ of 1 byte */
	uint64_t address, time, pc, size;
	const char *text; /* not terminated */
	size_t text_len;
};

/* A position in the units of one thread. */
struct raw_cursor {
	const struct raw_thread *thread;
	size_t next_chunk; /* index of the next chunk */
	uint32_t number;   /* the number that it should have */
	const struct raw_unit *at, *end;
	uint64_t base, pc_high, last; /* last: time of the last unit */
	bool broken;                  /* the thread's chunks make no sense from here on */
};
void raw_cursor_init(struct raw_cursor *c, const struct raw_thread *thread);

/* Reads the next unit. Returns false at the end, or if the rest makes no sense: c->broken. */
bool raw_cursor_next(struct raw_cursor *c, struct raw_item *item);

#endif
