/*
 * Source files as tokens, so that the expression at a line and column can be read.
 *
 * A file is read once and kept. A file that is newer than the program is not used: its lines may
 * have moved since.
 *
 * Included by: src/symbol, tests.
 */
#ifndef ATOMSAN_SYMBOL_SOURCE_TEXT_H
#define ATOMSAN_SYMBOL_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"

enum token_kind {
	TOKEN_NAME,    /* identifier or keyword */
	TOKEN_LITERAL, /* number, string or character */
	TOKEN_OP,
};

struct token {
	const char *s; /* not terminated */
	uint32_t n;
	uint32_t line; /* from 1 */
	uint32_t column;
	enum token_kind kind;
	bool spaced; /* white space or a comment comes before it */
};

struct tokens {
	struct token *v;
	size_t n;
};

/* A macro of a file. */
struct source_macro {
	const char *name; /* not terminated */
	uint32_t nname;
	bool function;    /* it has parameters */
	const char *text; /* parameters, if any, and what it stands for; not terminated */
	uint32_t ntext;
};

struct source_text {
	char *text;
	struct tokens tokens; /* without comments and preprocessor lines */
	size_t cap;
	struct source_macro *macro;
	size_t nmacros, macro_cap;
};

struct source_texts {
	struct source_text **v; /* NULL: the file cannot be used */
	size_t n, cap;
	struct map known; /* hash of the path -> index */
};

void source_texts_free(struct source_texts *s);

/* Returns a file, or NULL; `program` is the path of the module that was compiled from it. */
const struct source_text *source_text_get(struct source_texts *s, const char *path,
					  const char *program);

/* Returns the tokens of a text, for source_text_free(); takes ownership of `text`. */
struct source_text *source_text_new(char *text, size_t n);
void source_text_free(struct source_text *t);

/* Splits text that is not part of a file; adds the tokens to *v, an array made by MEM_GROW(). */
void source_text_split(const char *text, size_t n, struct token **v, size_t *count, size_t *cap);

/* Returns the last definition of a macro, or NULL. */
const struct source_macro *source_text_macro(const struct source_text *t, const struct token *name,
					     bool function);

/* Returns the index of the token at or around a column of a line, or SIZE_MAX. */
size_t source_text_find(const struct source_text *t, uint32_t line, uint32_t column);

/* Returns whether the token is this text. */
bool token_is(const struct token *t, const char *text);

#endif
