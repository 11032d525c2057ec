/*
 * The specification: which blocks are meant to be atomic.
 *
 * A file of rules, one a line; docs/spec.md describes it for users:
 *
 *	# comment
 *	include|exclude function|file|module|label|region PATTERN
 *	uncut N PAIR
 *
 * The pattern is the rest of the line, without the blanks around it: C++ names
 * have spaces. It is a glob: * ? [a-z] [!a-z], and \ before a character that has no
 * special meaning. The whole name must match:
 *
 *	function  its name in the source, with or without parameters and return
 *	          type; or its linker name
 *	file      the source file's path, or any end of it that begins after a /
 *	module    the same for the path of the executable or library
 *	label     the label of a block that is marked in the source
 *	region    the kind of a region and the function that it is in: "pair worker"
 *
 * The last rule that matches wins. If none matches, the default holds: every
 * function and every marked block is a block, except for those that blocks.h lists.
 * An exclude rule removes blocks. An include rule takes back what earlier rules
 * excluded; if it names a function exactly, without wildcards, the function is a
 * block even if it is main, the start function of a thread, or waits. With wildcards,
 * but not only wildcards, it is a block even if it is a start function.
 *
 * Only label rules apply to marked blocks, and only the others to functions.
 *
 * `uncut` says that nothing came between a pair of accesses in N runs (report/learned.h).
 * It changes no block; findings that cut the pair say so.
 */
#ifndef ATOMSAN_SPEC_SPEC_H
#define ATOMSAN_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/blocks.h"

enum spec_what { SPEC_FUNCTION, SPEC_FILE, SPEC_MODULE, SPEC_LABEL, SPEC_REGION, SPEC_WHATS };

struct spec;

/* Returns a specification without rules, for spec_free(). */
struct spec *spec_new(void);
/* Reads a file. Returns NULL, with "file:line: what" in `err`, if it is not a specification. */
struct spec *spec_read(const char *path, struct err *err);
/* The same from memory; `path` is for messages. */
struct spec *spec_parse(const char *path, const char *text, size_t n, struct err *err);
void spec_free(struct spec *s);

/* Returns the rules for reader_set_blocks(), owned by `s`. Without a resolver, functions match
 * none. */
struct block_rules *spec_rules(struct spec *s);

/*
 * Does any rule say something about this function? If not, sets *start to the flags of
 * block_policy.h for it as a start function. No rule counts as used by this.
 */
bool spec_mentions(const struct spec *s, const struct names_frame *f, unsigned *start);

/* What the rules say about a function or a marked block, whatever it does. */
enum spec_answer {
	SPEC_DEFAULT, /* a block, unless blocks.h lists it */
	SPEC_OUT,     /* not a block */
	SPEC_IN,      /* a block even if it waits: a rule names it exactly */
};
enum spec_answer spec_function(struct spec *s, const struct names_frame *f);
enum spec_answer spec_label(struct spec *s, const char *label);

/* Sets *out to rule i; returns false if there is none. `plain` is NULL if it has wildcards. */
struct spec_rule {
	const char *text, *plain;
	unsigned line;
	enum spec_what what;
};
bool spec_rule_at(const struct spec *s, size_t i, struct spec_rule *out);

/*
 * Iterates over the rules that have matched nothing so far; *at is 0 at first. Sets
 * *rule to the text of the next one and returns its line, or 0 if there is no more.
 */
unsigned spec_unused(const struct spec *s, size_t *at, const char **rule);
/* Prints "unused rule: PATH:LINE: TEXT" for each of them. */
void spec_print_unused(const struct spec *s, const char *path, FILE *out, const char *prefix);

/* Adds a rule, with its newline, for exactly this name. */
void spec_add_rule(struct str *out, bool include, enum spec_what what, const char *name);
/* Adds text as comment lines. */
void spec_add_comment(struct str *out, const char *text);

#endif
