#include "report/json_emit.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/json.h"
#include "base/str.h"

#include "base/banned.h"

static void put_string(const struct json_emit *j, const char *s)
{
	struct str b = STR_INIT;

	json_add_string(&b, s, j->in_html);
	fwrite(b.s, 1, b.n, j->out);
	str_free(&b);
}

static void new_line(struct json_emit *j)
{
	fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
}

/* Write what precedes a value: comma, newline, key. */
static void put_key(struct json_emit *j, const char *key)
{
	if (j->depth) {
		bool lines = j->level[j->depth - 1].layout == JSON_LINES;
		bool some = j->level[j->depth - 1].some;

		assert(!key == (j->level[j->depth - 1].close == ']'));
		if (some)
			putc(',', j->out);
		if (lines)
			new_line(j);
		else if (some)
			putc(' ', j->out);
		j->level[j->depth - 1].some = true;
	}
	if (key) {
		put_string(j, key);
		fputs(": ", j->out);
	}
}

void json_emit_open(struct json_emit *j, const char *key, char bracket, enum json_layout layout)
{
	bool inside_line = j->depth && j->level[j->depth - 1].layout == JSON_ONE_LINE;

	assert(j->depth < JSON_DEPTH_MAX);
	put_key(j, key);
	putc(bracket, j->out);
	j->level[j->depth].close = bracket == '{' ? '}' : ']';
	j->level[j->depth].some = false;
	j->level[j->depth].layout = inside_line ? JSON_ONE_LINE : layout;
	j->depth++;
}

void json_emit_close(struct json_emit *j)
{
	assert(j->depth);
	j->depth--;
	if (j->level[j->depth].some && j->level[j->depth].layout == JSON_LINES)
		new_line(j);
	putc(j->level[j->depth].close, j->out);
	if (!j->depth)
		putc('\n', j->out);
}

void json_emit_str(struct json_emit *j, const char *key, const char *s)
{
	put_key(j, key);
	if (s)
		put_string(j, s);
	else
		fputs("null", j->out);
}

void json_emit_u64(struct json_emit *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_emit_hex64(struct json_emit *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "\"%016" PRIx64 "\"", value);
}

void json_emit_double(struct json_emit *j, const char *key, double value)
{
	char text[40];

	if (!isfinite(value)) {
		json_emit_null(j, key);
		return;
	}
	put_key(j, key);
	snprintf(text, sizeof text, "%.6g", value);
	/* In some locales the decimal point is a comma, which JSON would read as two values. */
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.';
	fputs(text, j->out);
}

void json_emit_bool(struct json_emit *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_emit_null(struct json_emit *j, const char *key)
{
	put_key(j, key);
	fputs("null", j->out);
}
