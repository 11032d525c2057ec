/*
 * Expands a call of a function-like macro that is defined in the same source file.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_MACRO_H
#define ATOMSAN_SYMBOL_MACRO_H

#include "symbol/source_text.h"

/* The tokens refer to the text of the source file. */
struct macro_tokens {
	struct tokens tokens;
	size_t cap;
};

/*
 * Sets *out to the expansion of the call at a token; returns false if there is none. An argument
 * in parentheses of its own loses them if it is a name.
 */
bool macro_expand(const struct source_text *t, size_t at, struct macro_tokens *out);
void macro_tokens_free(struct macro_tokens *m);

#endif
