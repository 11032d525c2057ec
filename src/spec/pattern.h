/*
 * The patterns of a specification, and the forms of names that they are matched
 * against.
 *
 * Included by: src/spec, src/report/rank.c, tests.
 */
#ifndef ATOMSAN_SPEC_PATTERN_H
#define ATOMSAN_SPEC_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Returns NULL, or a sentence that says what is wrong with the pattern. */
const char *pattern_error(const char *pattern);

/* Returns whether the pattern has wildcards; if not, sets `plain` to the text that it matches. */
bool pattern_is_wild(const char *pattern, struct str *plain);

/* Returns whether the whole text matches. Takes at most time |pattern| * |text|. */
bool pattern_match(const char *pattern, const char *text);

/*
 * Adds a pattern that matches this text and no other, except that it has '?' for a control
 * character: a rule is one line.
 */
void pattern_quote(struct str *out, const char *text);

/*
 * Splits the demangled name of a function. *name is set to the index where the name
 * itself begins, after a template's return type or "non-virtual thunk to"; *params
 * to the index where the parameters begin.
 */
void pattern_split_function(const char *text, size_t *name, size_t *params);

/* Returns whether this linker name belongs to the C++ library's own namespaces. */
bool pattern_is_library(const char *linkage);

/* Returns whether a compiler gives this name to the body of an OpenMP region or task. */
bool pattern_is_outlined(const char *function);

#endif
