#include "base/file.h"

#include <stdlib.h>

#include "base/output_file.h"

#include "base/banned.h"

int file_read_open(FILE *in, const char *name, struct str *text, struct err *err)
{
	enum { PIECE = 1 << 16 };
	size_t n;

	do {
		str_room(text, PIECE);
		n = fread(text->s + text->n, 1, PIECE, in);
		text->n += n;
		text->s[text->n] = 0;
	} while (n && text->n <= FILE_BYTES_MAX);
	if (ferror(in))
		return err_sys(err, "%s", name);
	if (text->n > FILE_BYTES_MAX)
		return err_fail(err, "%s: more than a gigabyte", name);
	return 0;
}

int file_read(const char *path, struct str *text, struct err *err)
{
	FILE *in = fopen(path, "re");
	int rc;

	if (!in)
		return err_sys(err, "%s", path);
	rc = file_read_open(in, path, text, err);
	(void)fclose(in);
	return rc;
}

void file_add_temporary(struct str *path)
{
	const char *folder = getenv("TMPDIR");

	str_fmt(path, "%s/atomsan-XXXXXX", folder && *folder ? folder : "/tmp");
}

int file_replace(const char *path, const char *bytes, size_t n, struct err *err)
{
	struct output_file f;
	int rc;

	if (output_file_open(&f, path, err))
		return -1;
	rc = output_file_write(&f, bytes, n, err);
	return output_file_close(&f, !rc, err) || rc ? -1 : 0;
}
