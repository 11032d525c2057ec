/*
 * A line on a terminal's standard error, a few times a second, for what takes
 * longer than one: and only there.
 *
 *	progress_start(quiet);
 *	while (reader_next(...) > 0)
 *		progress_tick(r, 1);
 *	progress_end();
 */
#ifndef ATOMSAN_CLI_PROGRESS_H
#define ATOMSAN_CLI_PROGRESS_H

#include <stdbool.h>

#include "trace/reader.h"

void progress_start(bool quiet);
/* `pass` is 1, or higher where the trace is read again to explain what was found. */
void progress_tick(struct reader *r, int pass);
void progress_end(void);

#endif
