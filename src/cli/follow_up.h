/*
 * atomsan run --follow-up: a cheap run first, and a full check only of what it blames.
 *
 * Included by: cmd_run.c.
 */
#ifndef ATOMSAN_CLI_FOLLOW_UP_H
#define ATOMSAN_CLI_FOLLOW_UP_H

#include <stddef.h>

#include "report/report.h"

struct follow_up {
	const char **options; /* words for both runs, such as --spec=FILE */
	size_t noptions;
	const struct report_format *format;
	const char *output; /* NULL: standard error */
	const char *color;
	int verbosity;
};

/*
 * Runs the program as a skeleton. If that blames blocks, runs it again, checks these blocks in
 * full, and prints what the second run found; or what the first found, if the second found nothing.
 * Returns the exit status of `atomsan run`.
 */
int follow_up_run(const struct follow_up *f, char **program);

#endif
