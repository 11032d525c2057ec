/*
 * Bytes of a trace: a file or standard input, unpacked where it is a zstd
 * frame (or several, one behind the other).
 *
 * The reader looks at a window, in->p[0 .. in->avail), and moves it on with
 * input_skip(). At least INPUT_PAD bytes behind the window may be read and
 * hold nothing of meaning.
 *
 * Who may include this: the readers in this folder.
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
	uint64_t offset; /* of p, in the unpacked bytes */
	bool eof;        /* nothing comes behind the window */
	bool compressed;
	struct err err; /* why it ended, where that was not the end of the file */

	int fd;
	int spool; /* a copy of a pipe, so that it can be read again; or -1 */
	char *buf;
	size_t cap;
	char *raw; /* packed bytes */
	size_t raw_n, raw_at;
	bool frame_open; /* inside a zstd frame */
	bool raw_eof;
	void *zstd;
	uint64_t raw_read;
	uint64_t size; /* of the file, 0 where unknown */
};

int input_open(struct input *in, const char *path, bool rewindable, struct err *err);
/* The same of an open file, which is the input's from now on; `path` is for messages. */
int input_open_fd(struct input *in, int fd, const char *path, bool rewindable, struct err *err);
int input_rewind(struct input *in, struct err *err);
void input_close(struct input *in);

/* Widen the window to n bytes or the end; returns its size, which may be more. */
size_t input_need(struct input *in, size_t n);

static inline void input_skip(struct input *in, size_t n)
{
	in->p += n;
	in->avail -= n;
	in->offset += n;
}

#endif
