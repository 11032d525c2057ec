/*
 * A progress line on standard error, if that is a terminal and the work takes longer than a second.
 *
 *	progress_start(quiet);
 *	while (reader_next(...) > 0)
 *		progress_tick(r, 1);
 *	progress_end();
 */
#ifndef ATOMSAN_CLI_PROGRESS_H
#define ATOMSAN_CLI_PROGRESS_H

#include <stdbool.h>

#include "reporter/reporter.h"
#include "trace/reader.h"

void progress_start(bool quiet);
/* `pass` is 1, or higher if the trace is read again to explain the findings. */
void progress_tick(struct reader *r, int pass);
void progress_end(void);

/* The same for the reporter: struct reporter_progress. */
extern const struct reporter_progress progress_functions;

#endif
