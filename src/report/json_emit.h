/*
 * Writes JSON, for every format that is JSON. Commas, nesting, escapes and layout
 * are handled here and nowhere else.
 *
 *	struct json_emit j = JSON_EMIT_INIT(out);
 *	json_emit_open(&j, NULL, '{', JSON_LINES);
 *	json_emit_str(&j, "tool", "atomsan");
 *	json_emit_open(&j, "sizes", '[', JSON_ONE_LINE);
 *	json_emit_u64(&j, NULL, 3);
 *	json_emit_close(&j);
 *	json_emit_close(&j);
 *
 * The key is NULL in an array and at the top level. Strings may contain any bytes;
 * invalid UTF-8 becomes U+FFFD. Closing the outermost value also ends the line.
 *
 * Included by: report writers, commands, tests.
 */
#ifndef ATOMSAN_REPORT_JSON_EMIT_H
#define ATOMSAN_REPORT_JSON_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The layout of an object's or array's members. Everything inside a JSON_ONE_LINE is one too. */
enum json_layout { JSON_LINES, JSON_ONE_LINE };

enum { JSON_DEPTH_MAX = 32 };

struct json_emit {
	FILE *out;
	bool in_html; /* inside a <script>, where '<' must be escaped */
	unsigned depth;
	struct {
		char close; /* '}' or ']' */
		bool some;  /* whether it has a member already */
		enum json_layout layout;
	} level[JSON_DEPTH_MAX];
};

/* clang-format off */
#define JSON_EMIT_INIT(file) { .out = (file) }
/* clang-format on */

/* `bracket` is '{' or '['. */
void json_emit_open(struct json_emit *j, const char *key, char bracket, enum json_layout layout);
void json_emit_close(struct json_emit *j);

void json_emit_str(struct json_emit *j, const char *key, const char *s); /* NULL: null */
void json_emit_u64(struct json_emit *j, const char *key, uint64_t value);
void json_emit_hex64(struct json_emit *j, const char *key,
		     uint64_t value);                                      /* "00ff..": 16 digits */
void json_emit_double(struct json_emit *j, const char *key, double value); /* not finite: null */
void json_emit_bool(struct json_emit *j, const char *key, bool value);
void json_emit_null(struct json_emit *j, const char *key);

#endif
