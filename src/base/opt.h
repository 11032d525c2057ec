/*
 * Options. Each command has one table, which drives the parser, --help, the
 * options in the man page and shell completion.
 *
 *	static const struct opt opts[] = {
 *		OPT_FLAG('q', "quiet", &o.quiet, "say nothing but the findings"),
 *		OPT_STR('o', "output", "FILE", &o.output, "write there"),
 *		OPT_END,
 *	};
 *	n = opt_parse(opts, argc, argv, &err);	// argv[0..n) are the words that are left
 *
 * The syntax is the usual one: --name=value or --name value, -o value or
 * -ovalue, -qv; options and other words in any order; "--" ends the options, and
 * "-" is a word. With OPT_STOP_AT_WORD in the table the first word ends the
 * options too, for commands that run a program.
 *
 * A table may include the rows of another one, whose values are the fields of a
 * struct. So a part of the program can describe its options without a global
 * variable for each, and several commands can have them:
 *
 *	const struct opt predict_opts[] = {
 *		OPT_U64(0, "vars", "N", OPT_FIELD(struct predict_options, vars), "..."),
 *		OPT_END,
 *	};
 *	static const struct opt opts[] = {OPT_TABLE(predict_opts, &o.predict), OPT_END};
 */
#ifndef ATOMSAN_BASE_OPT_H
#define ATOMSAN_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum opt_kind {
	OPT_KIND_END,
	OPT_KIND_FLAG,
	OPT_KIND_COUNT,
	OPT_KIND_STR,
	OPT_KIND_U64,
	OPT_KIND_U64_OR_1, /* --name alone sets 1; a value must be given as --name=value */
	OPT_KIND_STOP,
	OPT_KIND_TABLE /* the rows of `table`; their values are offsets from `value` */
};

struct opt {
	enum opt_kind kind;
	char letter; /* of the short form, or 0 */
	const char *name;
	const char *arg; /* what --help calls the value */
	void *value;     /* bool *, int *, const char **, uint64_t * */
	const char *help;
	const struct opt *table;
};

/* clang-format off */
#define OPT_FLAG(l, n, v, h)     { OPT_KIND_FLAG, l, n, NULL, v, h, NULL }
#define OPT_COUNT(l, n, v, h)    { OPT_KIND_COUNT, l, n, NULL, v, h, NULL }
#define OPT_STR(l, n, a, v, h)   { OPT_KIND_STR, l, n, a, v, h, NULL }
#define OPT_U64(l, n, a, v, h)   { OPT_KIND_U64, l, n, a, v, h, NULL }
#define OPT_U64_OR_1(l, n, a, v, h) { OPT_KIND_U64_OR_1, l, n, a, v, h, NULL }
#define OPT_STOP_AT_WORD         { OPT_KIND_STOP, 0, NULL, NULL, NULL, NULL, NULL }
#define OPT_TABLE(t, v)          { OPT_KIND_TABLE, 0, NULL, NULL, v, NULL, t }
#define OPT_FIELD(type, field)   ((void *)offsetof(type, field)) /* NOLINT(performance-no-int-to-ptr) */
#define OPT_END                  { OPT_KIND_END, 0, NULL, NULL, NULL, NULL, NULL }
/* clang-format on */

/*
 * Parse argv[0..argc) in place. Returns how many words are left; they are moved to the front, and
 * followed by NULL as in main's argv. Returns -1 with a sentence in `err` if an option is wrong. A
 * number may end in k, m or g (thousand, million, thousand million).
 */
int opt_parse(const struct opt *opts, int argc, char **argv, struct err *err);

/* Print the table as --help shows it. */
void opt_print(const struct opt *opts, FILE *out);

/*
 * Walk over the options of a table, those of included tables among them:
 *
 *	struct opt_walk w = {.next = opts};
 *	struct opt o;
 *	while (opt_next(&w, &o)) ...	// o.value is an address in every row
 */
struct opt_walk {
	const struct opt *next;
	const struct opt *after; /* in an included table: the row after its own */
	char *base;
};
bool opt_next(struct opt_walk *w, struct opt *o);

/* Parse a number with its suffix. Returns 0, or -1 if it is not one. */
int opt_number(const char *s, uint64_t *value);

#endif
