/*
 * Notes to the user: one line each on standard error, "atomsan: ...". They are not results, which
 * go to standard output or into files, and they do not change the exit code.
 *
 * Tests of a part define note() themselves to see what the part says.
 */
#ifndef ATOMSAN_BASE_NOTE_H
#define ATOMSAN_BASE_NOTE_H

void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
