/*
 * A line of the source, as a compiler quotes it:
 *
 *	14 | account->balance = b + amount;
 *	   |                  ^
 *
 * The file is read as it is now, which may not be what was compiled: nobody
 * can tell, so a line that does not fit the column is quoted without a mark.
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_SOURCE_H
#define ATOMSAN_REPORT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Where the file cannot be read, or has no such line or nothing on it: nothing. */
void source_quote(FILE *out, size_t indent, const char *path, uint32_t line, uint32_t column,
		  bool color);

/* A file, and not something that would make us wait; NULL where it cannot be read. */
FILE *source_open(const char *path);

#endif
