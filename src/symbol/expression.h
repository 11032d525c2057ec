/*
 * Finds, in the tokens of a source file, the expressions that an instruction at a
 * line and column may access.
 *
 * Compilers mark an access at different tokens of its expression. For `p->x` gcc
 * marks "->" and clang marks "x"; for a[i] "[" and "a"; writes are marked at the
 * operator, as in `p->x = 1` and `p->x++`; calls and declarations at the name. So
 * one position may stand for several expressions: which of them it can be is
 * decided by their types (lvalue.h).
 *
 * Included by: src/symbol, tests.
 */
#ifndef ATOMSAN_SYMBOL_EXPRESSION_H
#define ATOMSAN_SYMBOL_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "symbol/source_text.h"

enum expression_use {
	USE_READ,
	USE_WRITE,  /* or both */
	USE_LOCK,   /* an operation on a lock or the like */
	USE_RESULT, /* what is assigned to */
};

struct expression {
	size_t first, last; /* tokens */
	bool pointer;       /* its value points to the memory */
	bool only_bits;     /* only if it is a bit-field */
	bool whole;         /* only if all of it is accessed */
};

enum { EXPRESSIONS_MAX = 16 };
struct expressions {
	struct expression v[EXPRESSIONS_MAX];
	size_t n;
};

/* Sets *out to the expressions that an operation marked at token `at` may be about. */
void expression_find(const struct tokens *t, size_t at, enum expression_use use,
		     struct expressions *out);

/*
 * The same for an operation in the code of a class's operator that is used at token `at`: of "p" in
 * "p->x", "p[i]", "*p" and "p++". Returns false, and sets nothing, if no such operator is there.
 */
bool expression_find_object(const struct tokens *t, size_t at, struct expressions *out);

/* Adds the text, without line breaks and comments, and with a '*' in front of a pointer. */
void expression_add_text(const struct tokens *t, const struct expression *e, struct str *out);

/* Returns the token of the bracket that closes the one at `open`, or SIZE_MAX. */
size_t expression_close(const struct tokens *t, size_t open);

#endif
