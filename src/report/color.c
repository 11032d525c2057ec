#include "report/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

int color_decide(const char *when, int fd, bool *color)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (!when || !strcmp(when, "auto"))
		*color = isatty(fd) && term && strcmp(term, "dumb") && !(no && *no);
	else if (!strcmp(when, "always") || !strcmp(when, "never"))
		*color = when[0] == 'a';
	else
		return -1;
	return 0;
}
