/*
 * Opening a trace with readable names: if it is a recorded run, its program is read for functions,
 * lines and variables (symbol/symbol.h).
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_TRACE_OPEN_H
#define ATOMSAN_CLI_TRACE_OPEN_H

#include "trace/reader.h"

/* Like reader_open(). */
struct reader *trace_open(const char *path, const struct reader_options *options, struct err *err);

/* Prints what could not be found out about the names to standard error, and closes it. */
void trace_close(struct reader *r);
/* Closes it without a word. */
void trace_close_quietly(struct reader *r);

#endif
