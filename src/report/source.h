/*
 * Quotes a source line as a compiler does:
 *
 *	14 | account->balance = b + amount;
 *	   |                  ^
 *
 * The file is read in its present state, which may differ from what was compiled.
 * If the column is outside the line, the line is quoted without a mark.
 *
 * Included by: report writers, tests.
 */
#ifndef ATOMSAN_REPORT_SOURCE_H
#define ATOMSAN_REPORT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"

/* Print the line; nothing if the file cannot be read or the line does not exist or is blank. */
void source_quote(FILE *out, size_t indent, const char *path, uint32_t line, uint32_t column,
		  bool color);

/* Add the text of a line. Returns false if it cannot be read. */
bool source_add_line(struct str *b, const char *path, uint32_t line);

/* Open a regular file (a pipe could block); NULL if that fails. */
FILE *source_open(const char *path);

#endif
