/*
 * The JSON form: json.c writes it, json_load.c reads it again. What a finding has
 * goes through both: tests/unit/test_report_load.c looks.
 *
 * Who may include this: report writers, commands, tests.
 */
#ifndef ATOMSAN_REPORT_JSON_H
#define ATOMSAN_REPORT_JSON_H

#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "report/json_emit.h"
#include "report/report.h"

/* Goes up where a reader of the old form would be wrong about the new one. */
enum { JSON_FORMAT = 1 };

/* The whole document as a value, for forms that have JSON inside. */
void json_emit_report(struct json_emit *j, const char *key, const struct report *rep);

/* Findings that were read: `rep` is as if the engines had run just now. */
struct json_loaded {
	struct report rep;
	struct engine_result *results;
	struct engine_ops *unknown; /* one for each result whose engine is not in the table */
	struct json_doc doc;
};

/*
 * Believes nothing: 0, or -1 with "path:line: ..." in `err` and nothing to free.
 * Fields that are absent are null: older files have fewer. `path` must stay.
 */
int json_load(struct json_loaded *l, const char *path, const char *text, size_t n, struct err *err);
void json_loaded_free(struct json_loaded *l);

#endif
