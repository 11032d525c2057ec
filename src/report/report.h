/*
 * Prints findings. `struct report` has what to print; a table lists the formats.
 * A format is one file that defines one `const struct report_format`.
 *
 * To add a format: define it in a file of this folder, declare it below and add
 * it to the table in report.c. Write every kind of JSON with json_emit.h.
 */
#ifndef ATOMSAN_REPORT_REPORT_H
#define ATOMSAN_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/engine.h"
#include "engine/finding.h"

struct json_emit;

/* Where the findings came from. */
struct report_source {
	const char *trace;   /* path as given; NULL for a live run, checked while it ran */
	const char *program; /* command line of a live run; else NULL */
	uint64_t events, threads, transactions, variables, locks, skipped;
	/* Why the trace broke off, or why a live run was not checked in full; NULL: neither. */
	const char *error;
	bool skeleton; /* plain accesses were not checked */
};

struct report {
	struct report_source source;
	const struct engine_result *results;
	size_t nresults;
	bool color;
	int verbosity; /* -q: -1, default 0, -v: 1 */
	bool all;      /* show every finding in full, even if it resembles another */
	/* Adds members at the end of the JSON form; NULL: there are none. */
	void (*more)(struct json_emit *j, const struct report *rep);
};

struct report_format {
	const char *name;
	const char *summary; /* text for --help, one line */
	bool context;        /* whether it shows what engine/context.h finds out */
	void (*write)(const struct report *rep, FILE *out);
};

extern const struct report_format *const report_formats[]; /* ends with NULL; text first */
extern const struct report_format text_format, json_format, html_format, sarif_format, gcc_format,
	github_format, junit_format, dot_format;
const struct report_format *report_format_by_name(const char *name);

/*
 * The text format in pieces, for a live run. report_text_finding() prints one group when it is
 * found: in full, or only its SUMMARY line if `brief`. report_text_end() prints what text_format
 * prints below the findings of rep->results; `nbrief` groups were brief or not printed.
 */
void report_text_finding(const struct report *rep, const struct finding *const *v, size_t n,
			 bool brief, FILE *out);
void report_text_end(const struct report *rep, size_t nbrief, FILE *out);
/*
 * Does `f` add nothing for a reader who has seen `before` in full? A block that is not atomic is
 * often violated in many places; the first report already says what is wrong with it.
 */
bool report_text_is_repeat(const struct finding *f, const struct finding *before);
enum { REPORT_TEXT_LINES = 8 }; /* SUMMARY lines of repeats per block, without -v and -q */

/* What was checked: the trace's path, else the program's command line, else "?". */
const char *report_source_name(const struct report_source *src);

/* "observed", "predicted" or "confirmed": the same word in every format. */
const char *report_status_name(enum finding_status status);

#endif
