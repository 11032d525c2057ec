#include "base/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

/* What execvp() uses if PATH is not set. */
static const char default_path[] = "/usr/bin:/bin";

bool program_is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool program_find(struct str *out, const char *name, bool (*skip)(void *arg, const char *path),
		  void *arg)
{
	const char *path = getenv("PATH");

	str_reset(out);
	if (strchr(name, '/')) {
		str_add(out, name);
		return program_is_executable(name) && !(skip && skip(arg, name));
	}
	for (const char *p = path ? path : default_path; *p;) {
		size_t n = strcspn(p, ":");

		str_reset(out);
		str_addn(out, n ? p : ".", n ? n : 1); /* an empty entry is the current folder */
		str_fmt(out, "/%s", name);
		if (program_is_executable(out->s) && !(skip && skip(arg, out->s)))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}
