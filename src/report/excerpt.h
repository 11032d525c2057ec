/*
 * Excerpts of source files, for a report that contains its sources: each line
 * that a finding mentions, with some lines around it.
 *
 * Files are read in their present state, as in source.h. Files that cannot be
 * read are left out, and so is what exceeds a limit on the total size.
 *
 * Included by: report writers.
 */
#ifndef ATOMSAN_REPORT_EXCERPT_H
#define ATOMSAN_REPORT_EXCERPT_H

#include "report/json_emit.h"
#include "report/report.h"

enum { EXCERPT_AROUND = 7, EXCERPT_BYTES_MAX = 16 << 20 };

/* Emit "key": [{"file": "bank.c", "excerpts": [{"first": 9, "lines": ["..."]}]}] */
void excerpt_emit(struct json_emit *j, const char *key, const struct report *rep);

#endif
