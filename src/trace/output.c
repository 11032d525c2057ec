#include "trace/output.h"

#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"

#include "base/banned.h"

enum { BUFFER = 256 * 1024, LEVEL = 3 };

int output_open(struct output *o, const char *path, bool own, struct err *err)
{
	size_t n = strlen(path);

	*o = (struct output){0};
	if (strcmp(path, "-") != 0) {
		if (own ? output_file_open_own(&o->file, path, err)
			: output_file_open(&o->file, path, err))
			return -1;
	} else {
		o->file = (struct output_file){.fd = dup(1), .path = mem_strdup("<stdout>")};
		if (o->file.fd < 0) {
			mem_free(o->file.path);
			return err_sys(err, "%s", path);
		}
	}
	if (n > 4 && !strcmp(path + n - 4, ".zst")) {
		o->zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
		o->buf = mem_alloc(BUFFER);
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
			return err_fail(err, "%s: %s", o->file.path, ZSTD_getErrorName(left));
		if (output_file_write(&o->file, o->buf, out.pos, err))
			return -1;
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
	return 0;
}

int output_write(struct output *o, const void *p, size_t n, struct err *err)
{
	return o->zstd ? compress_bytes(o, p, n, ZSTD_e_continue, err)
		       : output_file_write(&o->file, p, n, err);
}

int output_close(struct output *o, bool keep, struct err *err)
{
	int rc = keep && o->zstd ? compress_bytes(o, NULL, 0, ZSTD_e_end, err) : 0;

	if (output_file_close(&o->file, keep && !rc, err))
		rc = -1;
	ZSTD_freeCCtx(o->zstd);
	mem_free(o->buf);
	return rc;
}
