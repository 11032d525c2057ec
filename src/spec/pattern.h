/*
 * Patterns of a specification, and the names that they are held against.
 *
 * Who may include this: src/spec, tests.
 */
#ifndef ATOMSAN_SPEC_PATTERN_H
#define ATOMSAN_SPEC_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* NULL, or what is wrong with it. */
const char *pattern_wrong(const char *pattern);

/* Does it have wildcards? Where not, `plain` becomes the text it stands for. */
bool pattern_is_wild(const char *pattern, struct str *plain);

/* Does the whole text match? Takes time |pattern| * |text| at most. */
bool pattern_match(const char *pattern, const char *text);

/* Add the pattern that matches this text and no other on one line of a file. */
void pattern_quote(struct str *out, const char *text);

/*
 * A function's name, as demanglers write it, in pieces: the parameters, and
 * what follows them, begin at `params`; what stands before the name itself (a
 * template's return type, "non-virtual thunk to") ends at `name`.
 */
void pattern_split_function(const char *text, size_t *name, size_t *params);

/* Is this a name of the linker's for something in the C++ library's own namespaces? */
bool pattern_is_library(const char *linkage);

#endif
