/*
 * JSON: strings for code that writes it, and a parser. The parser is as strict as
 * RFC 8259 and bounds the depth. Whatever the bytes are, the result is a tree, or
 * one sentence that says where and what is wrong.
 *
 *	struct json_doc doc = {0};
 *	if (json_parse(&doc, "x.json", text, n, &err))
 *		return -1;
 *	name = json_member(doc.root, "name");
 *	json_free(&doc);
 *
 * Strings are terminated, valid UTF-8 and hold no NUL: a string with \u0000 is an
 * error. If an object has two members with the same key, the first counts.
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
 * Append a string with its quotes. It may hold any bytes: those that are not UTF-8
 * become U+FFFD. `in_html` escapes '<' too, as a page's <script> needs.
 */
void json_add_string(struct str *b, const char *s, bool in_html);

enum { JSON_NESTING_MAX = 64 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	bool truth;         /* JSON_BOOL */
	bool is_u64;        /* JSON_NUMBER: a whole number, in `u64` */
	const char *key;    /* in an object */
	const char *string; /* JSON_STRING */
	uint64_t u64;
	double number;
	struct json *first, *next; /* members, in order */
	size_t n;                  /* how many */
	size_t line;               /* the line that it starts on, from 1 */
};

struct json_doc {
	const char *path; /* for messages */
	struct json *root;
	struct arena arena;
};

/*
 * Parse a text. Returns 0, or -1 with "path:line: ..." in `err` and nothing to free. `path` stays
 * the caller's and must live as long as the document.
 */
int json_parse(struct json_doc *doc, const char *path, const char *text, size_t n, struct err *err);
void json_free(struct json_doc *doc);

/* Returns the member with this key; NULL if there is none, or if `j` is NULL or not an object. */
const struct json *json_member(const struct json *j, const char *key);

/* "a string", "an object", ...: for messages. */
const char *json_kind_name(enum json_kind kind);

#endif
