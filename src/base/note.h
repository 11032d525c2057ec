/*
 * Notes to the user: one line each on standard error, "atomsan: ...". They are not results, which
 * go to standard output or into files, and they do not change the exit code.
 *
 * Tests of a part define note() themselves to see what the part says.
 */
#ifndef ATOMSAN_BASE_NOTE_H
#define ATOMSAN_BASE_NOTE_H

#include <stdarg.h>

/* One line; control characters in it are shown as \xNN. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, after the name of a command: "atomsan COMMAND: ..."; NULL: none. */
void note_line(const char *command, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#endif
