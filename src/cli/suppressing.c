#include "cli/suppressing.h"

#include "base/banned.h"

const char *suppressing_file;
static struct suppress *list; /* what was read */

int suppressing_read(struct err *err)
{
	if (suppressing_file && !list)
		list = suppress_read(suppressing_file, err);
	return suppressing_file && !list ? -1 : 0;
}

struct suppress *suppressing_list(void)
{
	return list;
}

static bool is_suppressed(const struct finding *f, void *s)
{
	return suppress_matches(s, f);
}

size_t suppressing_drop(struct finding_list *findings)
{
	return list ? finding_list_drop(findings, is_suppressed, list) : 0;
}
