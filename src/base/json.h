/*
 * JSON: its strings, for who writes it, and reading it, as strictly as RFC 8259
 * has it and with a bound on its depth:
 * whatever the bytes, a tree or one sentence that says where and what.
 *
 *	struct json_doc doc = {0};
 *	if (json_parse(&doc, "x.json", text, n, &err))
 *		return -1;
 *	name = json_member(doc.root, "name");
 *	json_free(&doc);
 *
 * Strings are terminated, valid UTF-8 and hold no NUL: one with \u0000 is refused.
 * Of two members with one key the first counts.
 */
#ifndef ATOMSAN_BASE_JSON_H
#define ATOMSAN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/*
 * Add a string with its quotes. It may hold anything: what is not UTF-8 becomes
 * U+FFFD. In a page's <script> no '<' may stand.
 */
void json_add_string(struct str *b, const char *s, bool in_html);

enum { JSON_NESTING_MAX = 64 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	bool truth;         /* JSON_BOOL */
	bool is_u64;        /* JSON_NUMBER: it is a whole one, in `u64` */
	const char *key;    /* in an object */
	const char *string; /* JSON_STRING */
	uint64_t u64;
	double number;
	struct json *first, *next; /* members, in order */
	size_t n;                  /* how many */
	size_t line;               /* where it starts, from 1 */
};

struct json_doc {
	const char *path; /* for sentences */
	struct json *root;
	struct arena arena;
};

/* 0; -1 with "path:line: ..." in `err`, and nothing to free. `path` must stay. */
int json_parse(struct json_doc *doc, const char *path, const char *text, size_t n, struct err *err);
void json_free(struct json_doc *doc);

/* A member of an object by its key; NULL where there is none, or `j` is NULL or no object. */
const struct json *json_member(const struct json *j, const char *key);

/* "a string", "an object": for sentences. */
const char *json_kind_name(enum json_kind kind);

#endif
