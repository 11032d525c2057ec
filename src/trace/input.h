/*
 * The bytes of a trace, from a file or standard input; decompressed if they are
 * a zstd frame, or several in a row.
 *
 * The caller reads a window, in->p[0 .. in->avail), and moves it on with
 * input_skip(). At least INPUT_PAD bytes after the window may be read; their
 * values mean nothing.
 *
 * Included by: input.c, and reader_impl.h for the readers.
 */
#ifndef ATOMSAN_TRACE_INPUT_H
#define ATOMSAN_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { INPUT_PAD = 64 };

struct input {
	char *p;
	size_t avail;
	uint64_t offset; /* of p, in the decompressed bytes */
	bool eof;        /* nothing comes after the window */
	bool compressed;
	struct err err; /* why the input ended, if not at the end of the file */

	/* Private to input.c; the readers also use fd, raw_read and size. */
	int fd;
	int spool; /* a copy of a pipe, so that it can be read again; or -1 */
	char *buf;
	size_t cap;
	char *raw; /* compressed bytes */
	size_t raw_n, raw_at;
	bool frame_open; /* inside a zstd frame */
	bool raw_eof;
	void *zstd;
	uint64_t raw_read; /* bytes of the file read so far */
	uint64_t size;     /* of the file; 0: unknown */
};

/*
 * Opens a file, or standard input if the path is "-". `rewindable`: input_rewind() must work, so a
 * pipe is copied to a temporary file. Returns 0, or -1 with a sentence in `err`.
 */
int input_open(struct input *in, const char *path, bool rewindable, struct err *err);
/* The same for an open file. Takes over fd, even if it fails; `path` is for messages. */
int input_open_fd(struct input *in, int fd, const char *path, bool rewindable, struct err *err);
/* Goes back to the first byte. Returns 0, or -1 with a sentence in `err`. */
int input_rewind(struct input *in, struct err *err);
void input_close(struct input *in);

/* Widens the window to n bytes, or to the end. Returns its size, which may be larger. */
size_t input_need(struct input *in, size_t n);

static inline void input_skip(struct input *in, size_t n)
{
	in->p += n;
	in->avail -= n;
	in->offset += n;
}

#endif
