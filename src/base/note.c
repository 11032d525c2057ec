#include "base/note.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "base/banned.h"

void note_line(const char *command, const char *fmt, va_list ap)
{
	struct str line = STR_INIT;
	char text[1 << 13];

	vsnprintf(text, sizeof text, fmt, ap);
	str_fmt(&line, "atomsan%s%s: ", command ? " " : "", command ? command : "");
	/* Arguments and names may have bytes that control a terminal, or begin a line of their own.
	 */
	str_add_shown(&line, text, strlen(text), SIZE_MAX);
	str_addc(&line, '\n');
	(void)fwrite(line.s, 1, line.n, stderr);
	str_free(&line);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note_line(NULL, fmt, ap);
	va_end(ap);
}
