#include "base/file.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

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

int file_replace(const char *path, const char *bytes, size_t n, struct err *err)
{
	struct str part = STR_INIT;
	struct stat st;
	bool direct = !lstat(path, &st) && !S_ISREG(st.st_mode);
	FILE *f;
	int rc = 0;

	str_add(&part, path);
	if (!direct)
		str_fmt(&part, ".%ld", (long)getpid());
	f = fopen(part.s, "we");
	if (!f || (fwrite(bytes, 1, n, f) != n) | fclose(f) || (!direct && rename(part.s, path))) {
		rc = err_sys(err, "%s", path);
		if (f && !direct)
			unlink(part.s);
	}
	str_free(&part);
	return rc;
}
