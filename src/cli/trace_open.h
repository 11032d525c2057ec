/*
 * A trace whose names are shown as a person knows them: where it is a recorded
 * run, its program is read for functions, lines and variables (symbol/symbol.h).
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_TRACE_OPEN_H
#define ATOMSAN_CLI_TRACE_OPEN_H

#include "trace/reader.h"

/* As reader_open(). */
struct reader *trace_open(const char *path, const struct reader_options *options, struct err *err);

/* Say what could not be found out about the names, on standard error, and close it. */
void trace_close(struct reader *r);
/* Without a word. */
void trace_close_quietly(struct reader *r);

#endif
