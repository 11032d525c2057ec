#include "base/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#include "base/banned.h"

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
