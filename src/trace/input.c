#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"

#include "base/banned.h"

enum { RAW_SIZE = 128 * 1024, WINDOW_SIZE = 2 * RAW_SIZE };

/* Reads some bytes of the file itself. Returns 0 at its end or if reading fails. */
static size_t read_file(struct input *in, char *to, size_t n)
{
	ssize_t got;

	do
		got = read(in->fd, to, n);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		err_sys(&in->err, "reading");
		return 0;
	}
	in->raw_read += (uint64_t)got;
	for (ssize_t done = 0; in->spool >= 0 && done < got;) {
		ssize_t put = write(in->spool, to + done, (size_t)(got - done));

		if (put < 0 && errno != EINTR) {
			err_sys(&in->err, "keeping a copy of standard input in a temporary file");
			return 0;
		}
		done += put > 0 ? put : 0;
	}
	return (size_t)got;
}

/* Decompresses some bytes. Returns 0 at the end or after an error. */
static size_t decompress_some(struct input *in, char *to, size_t n)
{
	ZSTD_outBuffer out = {to, n, 0};

	while (!out.pos) {
		ZSTD_inBuffer src = {in->raw, in->raw_n, in->raw_at};
		size_t left;

		if (src.pos == src.size) {
			in->raw_n = in->raw_eof ? 0 : read_file(in, in->raw, RAW_SIZE);
			in->raw_at = 0;
			if (!in->raw_n) {
				in->raw_eof = true;
				if (in->frame_open && !err_is_set(&in->err))
					err_fail(&in->err, "compressed data is cut off");
				return 0;
			}
			continue;
		}
		left = ZSTD_decompressStream(in->zstd, &out, &src);
		in->raw_at = src.pos;
		if (ZSTD_isError(left)) {
			err_fail(&in->err, "compressed data is damaged (%s)",
				 ZSTD_getErrorName(left));
			return 0;
		}
		in->frame_open = left != 0;
	}
	return out.pos;
}

size_t input_need(struct input *in, size_t n)
{
	if (in->avail >= n || in->eof)
		return in->avail;
	/* Move the rest to the front; the buffer grows while bytes come, not before. */
	memmove(in->buf, in->p, in->avail);
	in->p = in->buf;
	while (in->avail < n) {
		size_t got;

		if (in->avail + INPUT_PAD >= in->cap)
			in->buf = in->p = mem_grow_bytes(in->buf, &in->cap, in->cap * 2, 1, 0);
		got = in->compressed
			      ? decompress_some(in, in->buf + in->avail,
						in->cap - INPUT_PAD - in->avail)
			      : read_file(in, in->buf + in->avail, in->cap - INPUT_PAD - in->avail);
		in->avail += got;
		if (!got) {
			in->eof = true;
			break;
		}
	}
	memset(in->buf + in->avail, 0, INPUT_PAD);
	return in->avail;
}

/* Reads the first bytes; if they begin a zstd frame, passes them to the decompressor. */
static void begin_input(struct input *in)
{
	static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

	in->p = in->buf;
	in->avail = 0;
	in->offset = 0;
	in->eof = in->raw_eof = in->compressed = in->frame_open = false;
	in->err.text[0] = 0;
	in->raw_read = 0;
	input_need(in, 4);
	if (in->avail < 4 || memcmp(in->p, magic, 4))
		return;
	if (!in->zstd)
		in->zstd = ZSTD_createDCtx();
	in->raw = mem_resize(in->raw, in->cap); /* the window may have grown since */
	ZSTD_DCtx_reset(in->zstd, ZSTD_reset_session_only);
	memcpy(in->raw, in->p, in->avail);
	in->raw_n = in->avail;
	in->raw_at = 0;
	in->avail = 0;
	in->eof = false;
	in->compressed = true;
}

static int open_spool(struct input *in, struct err *err)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof path, "%s/atomsan-XXXXXX", dir && *dir ? dir : "/tmp");
	in->spool = mkstemp(path);
	if (in->spool < 0)
		return err_sys(err, "%s", path);
	unlink(path);
	return 0;
}

int input_open(struct input *in, const char *path, bool rewindable, struct err *err)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(0);

	return fd < 0 ? err_sys(err, "%s", path) : input_open_fd(in, fd, path, rewindable, err);
}

int input_open_fd(struct input *in, int fd, const char *path, bool rewindable, struct err *err)
{
	struct stat st = {0};

	*in = (struct input){.fd = fd, .spool = -1};
	if (fstat(in->fd, &st) || S_ISDIR(st.st_mode)) {
		int why = S_ISDIR(st.st_mode) ? EISDIR : errno;

		close(in->fd);
		errno = why;
		return err_sys(err, "%s", path);
	}
	if (S_ISREG(st.st_mode) && lseek(in->fd, 0, SEEK_CUR) == 0)
		in->size = (uint64_t)st.st_size;
	else if (rewindable && open_spool(in, err)) {
		close(in->fd);
		return -1;
	}
	in->cap = WINDOW_SIZE;
	in->buf = mem_alloc(in->cap);
	begin_input(in);
	return 0;
}

int input_rewind(struct input *in, struct err *err)
{
	if (in->spool >= 0) {
		/* Copy the rest of the pipe too. */
		while (read_file(in, in->buf, in->cap) > 0)
			;
		if (err_is_set(&in->err)) {
			*err = in->err;
			return -1;
		}
		close(in->fd);
		in->fd = in->spool;
		in->spool = -1;
	}
	if (lseek(in->fd, 0, SEEK_SET) < 0)
		return err_sys(err, "going back to the start of the trace");
	begin_input(in);
	return 0;
}

void input_close(struct input *in)
{
	close(in->fd);
	if (in->spool >= 0)
		close(in->spool);
	ZSTD_freeDCtx(in->zstd);
	mem_free(in->raw);
	mem_free(in->buf);
}
