/*
 * Printing findings. One struct says what there is to print, one table lists
 * the forms; a form is one file with one `const struct report_format`.
 */
#ifndef ATOMSAN_REPORT_REPORT_H
#define ATOMSAN_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/engine.h"
#include "engine/finding.h"

/* Where the findings came from. */
struct report_source {
	const char *trace; /* its path, as given */
	uint64_t events, threads, transactions, variables, locks, skipped;
	const char *error; /* the sentence, where the trace broke off; or NULL */
};

struct report {
	struct report_source source;
	const struct engine_result *results;
	size_t nresults;
	bool color;
	int verbosity; /* -q: -1, default 0, -v: 1 */
};

struct report_format {
	const char *name;
	const char *summary; /* one line for --help */
	void (*write)(const struct report *rep, FILE *out);
};

extern const struct report_format *const report_formats[]; /* ends with NULL; text first */
const struct report_format *report_format_by_name(const char *name);

#endif
