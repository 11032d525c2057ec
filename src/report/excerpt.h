/*
 * Parts of source files, for a report that carries its sources with it: for
 * each line that a finding speaks of, that line and some around it.
 *
 * Files are read as they are now, as source.h does. Which lines are there is
 * decided by what can be read and by a bound on the whole.
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_EXCERPT_H
#define ATOMSAN_REPORT_EXCERPT_H

#include "report/json_emit.h"
#include "report/report.h"

enum { EXCERPT_AROUND = 7, EXCERPT_BYTES_MAX = 16 << 20 };

/* "key": [{"file": "bank.c", "excerpts": [{"first": 9, "lines": ["..."]}]}] */
void excerpt_emit(struct json_emit *j, const char *key, const struct report *rep);

#endif
