#include "base/note.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("atomsan: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}
