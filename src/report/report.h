/*
 * Printing findings. One struct says what there is to print, one table lists
 * the forms; a form is one file with one `const struct report_format`.
 *
 * To add one: a file in this folder that defines it, a line below and a row in
 * report.c. JSON of any kind is written with json_emit.h.
 */
#ifndef ATOMSAN_REPORT_REPORT_H
#define ATOMSAN_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/engine.h"
#include "engine/finding.h"

/* Where the findings came from. */
struct report_source {
	const char *trace;   /* its path, as given; NULL of a run that was checked as it went */
	const char *program; /* of such a run its command line; else NULL */
	uint64_t events, threads, transactions, variables, locks, skipped;
	const char *error; /* the sentence, where the trace broke off; or NULL */
};

struct report {
	struct report_source source;
	const struct engine_result *results;
	size_t nresults;
	bool color;
	int verbosity; /* -q: -1, default 0, -v: 1 */
	bool all;      /* nothing is left out because it looks like something else */
};

struct report_format {
	const char *name;
	const char *summary; /* one line for --help */
	bool context;        /* it shows what engine/context.h finds out */
	void (*write)(const struct report *rep, FILE *out);
};

extern const struct report_format *const report_formats[]; /* ends with NULL; text first */
extern const struct report_format text_format, json_format, html_format, sarif_format, gcc_format,
	github_format, junit_format, dot_format;
const struct report_format *report_format_by_name(const char *name);

/*
 * Text in pieces, for a run that is checked as it goes: findings that belong together, when they
 * are made; at the end what text_format prints below the findings of rep->results. `told`: in one
 * line; and how many had just that.
 */
void report_text_finding(const struct report *rep, const struct finding *const *v, size_t n,
			 bool told, FILE *out);
void report_text_end(const struct report *rep, size_t told, FILE *out);
/*
 * Another was shown before: does a reader know what is to be known? A block that is cut in one
 * place is cut in many, and the first report says what is wrong with it.
 */
bool report_text_told(const struct finding *f, const struct finding *before);
enum { REPORT_TEXT_LINES = 8 }; /* at most, of a block that was shown; with -v and -q all */

/* What was checked: the trace's path, or the program's command line; "?" where nobody knows. */
const char *report_source_name(const struct report_source *src);

/* "observed", "predicted", "confirmed": the same word in every form. */
const char *report_status_name(enum finding_status status);

#endif
