/*
 * The specification: which blocks are meant to be atomic.
 *
 * A file of rules, one a line; docs/spec.md describes it for users:
 *
 *	# comment
 *	include|exclude function|file|module|label PATTERN
 *
 * The pattern is the rest of the line, without the blanks around it: names in
 * C++ have spaces. It is a glob: * ? [a-z] [!a-z], and \ in front of a
 * character that stands for itself. The whole name must match:
 *
 *	function  as a person writes it, with or without parameters and return
 *	          type; or as the linker knows it
 *	file      the source file's path, or any end of it that begins behind a /
 *	module    the same of the executable or library
 *	label     of a block that is marked in the source
 *
 * The last rule that matches wins. Where none does, the default stands: every
 * function and every marked block is one, but for what blocks.h lists. An
 * exclude takes blocks out. An include takes back what rules before it
 * excluded. One that names a function outright, without wildcards, is taken at
 * its word: main, the start of a thread or a function that waits is then a
 * block all the same.
 *
 * Marked blocks answer to label rules only, and functions to the others.
 */
#ifndef ATOMSAN_SPEC_SPEC_H
#define ATOMSAN_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/blocks.h"

enum spec_what { SPEC_FUNCTION, SPEC_FILE, SPEC_MODULE, SPEC_LABEL, SPEC_WHATS };

struct spec;

/* No rule: the default. */
struct spec *spec_new(void);
/* NULL, with "file:line: what" in `err`, where it is not a specification. */
struct spec *spec_read(const char *path, struct err *err);
/* The same from memory; `path` is for messages. */
struct spec *spec_parse(const char *path, const char *text, size_t n, struct err *err);
void spec_free(struct spec *s);

/* For reader_set_blocks(). Functions are found by the names' resolver, as far as there is one. */
struct block_rules *spec_rules(struct spec *s);

/* What the rules say of a function or a marked block, whatever it does. */
enum spec_answer {
	SPEC_DEFAULT, /* it is one, unless the default says otherwise */
	SPEC_OUT,
	SPEC_IN, /* it is one also if it waits: named outright */
};
enum spec_answer spec_function(struct spec *s, const struct names_frame *f);
enum spec_answer spec_label(struct spec *s, const char *label);

/* The rules, in their order; false behind the last. `plain` is NULL where there are wildcards. */
struct spec_rule {
	const char *text, *plain;
	unsigned line;
	enum spec_what what;
};
bool spec_rule_at(const struct spec *s, size_t i, struct spec_rule *out);

/*
 * The rules that matched nothing so far, from `*at` on (0 at first): the line of
 * the next one and its text, or 0 when there is no more.
 */
unsigned spec_unused(const struct spec *s, size_t *at, const char **rule);
/* Print "unused rule: PATH:LINE: TEXT" for each of them. */
void spec_print_unused(const struct spec *s, const char *path, FILE *out, const char *prefix);

/* Add a line, with its newline, that speaks of exactly this name. */
void spec_add_rule(struct str *out, bool include, enum spec_what what, const char *name);
/* Add text as comment lines. */
void spec_add_comment(struct str *out, const char *text);

#endif
