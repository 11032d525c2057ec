/*
 * The JSON format: json.c writes it, json_load.c reads it back. Every field of a
 * finding survives the round trip; tests/unit/test_report_load.c checks that.
 *
 * Included by: report writers, src/campaign, commands, tests.
 */
#ifndef ATOMSAN_REPORT_JSON_H
#define ATOMSAN_REPORT_JSON_H

#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "report/json_emit.h"
#include "report/report.h"

/* The format's version, raised when a change would mislead older readers. */
enum { JSON_FORMAT = 1 };

/* Emit the whole document as a value, for formats that embed JSON. */
void json_emit_report(struct json_emit *j, const char *key, const struct report *rep);

/* A report that was read. `rep` looks as if the engines had just run. */
struct json_loaded {
	struct report rep;
	struct engine_result *results;
	struct engine_ops *unknown; /* one for each result whose engine is not in the table */
	struct json_doc doc;
};

/*
 * Read a document without trusting it. Returns 0, or -1 with "path:line: ..." in `err` and
 * nothing to free. An absent field counts as null, because older files have fewer fields.
 * `path` must outlive `l`.
 */
int json_load(struct json_loaded *l, const char *path, const char *text, size_t n, struct err *err);
void json_loaded_free(struct json_loaded *l);

#endif
