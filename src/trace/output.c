#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"

#include "base/banned.h"

enum { BUFFER = 256 * 1024, LEVEL = 3 };

int output_open(struct output *o, const char *path, struct err *err)
{
	size_t n = strlen(path);

	*o = (struct output){0};
	o->fd = strcmp(path, "-") ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
				  : dup(1);
	if (o->fd < 0)
		return err_sys(err, "%s", path);
	o->path = mem_strdup(strcmp(path, "-") ? path : "<stdout>");
	if (n > 4 && !strcmp(path + n - 4, ".zst")) {
		o->zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
		o->buf = mem_alloc(BUFFER);
	}
	return 0;
}

static int write_all(struct output *o, const char *p, size_t n, struct err *err)
{
	while (n) {
		ssize_t done = write(o->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_sys(err, "%s", o->path);
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int compress_bytes(struct output *o, const void *p, size_t n, ZSTD_EndDirective end,
			  struct err *err)
{
	ZSTD_inBuffer in = {p, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {o->buf, BUFFER, 0};

		left = ZSTD_compressStream2(o->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return err_fail(err, "%s: %s", o->path, ZSTD_getErrorName(left));
		if (write_all(o, o->buf, out.pos, err))
			return -1;
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
	return 0;
}

int output_write(struct output *o, const void *p, size_t n, struct err *err)
{
	return o->zstd ? compress_bytes(o, p, n, ZSTD_e_continue, err) : write_all(o, p, n, err);
}

int output_close(struct output *o, struct err *err)
{
	int rc = o->zstd ? compress_bytes(o, NULL, 0, ZSTD_e_end, err) : 0;

	/* A network file system may report a failed write only now. */
	if (close(o->fd) && !rc)
		rc = err_sys(err, "%s", o->path);
	ZSTD_freeCCtx(o->zstd);
	mem_free(o->buf);
	mem_free(o->path);
	return rc;
}
