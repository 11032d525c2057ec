#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

void json_add_string(struct str *b, const char *s, bool in_html)
{
	size_t n = strlen(s);

	str_addc(b, '"');
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = utf8_decode(s + i, n - i, &cp);

		if (!len)
			str_add(b, "\\ufffd");
		else if (cp == '"' || cp == '\\')
			str_fmt(b, "\\%c", (int)cp);
		else if (cp == '\n')
			str_add(b, "\\n");
		else if (cp == '\t')
			str_add(b, "\\t");
		else if (cp < 0x20 || cp == 0x7f || (cp == '<' && in_html))
			str_fmt(b, "\\u%04x", cp);
		else
			str_addn(b, s + i, len);
		i += len ? len : 1;
	}
	str_addc(b, '"');
}

/* The longest number, in characters: longer ones are not meant seriously. */
enum { NUMBER_MAX = 64 };

struct parse {
	struct json_doc *doc;
	const char *at, *end;
	size_t line;
	unsigned depth;
	struct str string; /* the string that is being read */
	struct err *err;
};

static int fail_parse(struct parse *p, const char *what)
{
	return err_fail(p->err, "%s:%zu: %s", p->doc->path, p->line, what);
}

/* Fail with what was expected and what is here instead. */
static int fail_here(struct parse *p, const char *wanted)
{
	struct str shown = STR_INIT;

	if (p->at == p->end)
		return err_fail(p->err, "%s:%zu: it ends where %s should be", p->doc->path, p->line,
				wanted);
	str_add_shown(&shown, p->at, 1, 8);
	err_fail(p->err, "%s:%zu: '%s' where %s should be", p->doc->path, p->line, shown.s, wanted);
	str_free(&shown);
	return -1;
}

static void skip_space(struct parse *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '\n')
			p->line++;
		else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
			return;
	}
}

static bool take_char(struct parse *p, char c)
{
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool take_word(struct parse *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n))
		return false;
	p->at += n;
	return true;
}

static bool is_digit(const struct parse *p)
{
	return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static int four_digits(struct parse *p, uint32_t *value)
{
	*value = 0;
	for (int i = 0; i < 4; i++, p->at++) {
		char c = p->at < p->end ? *p->at : 0;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			*value = *value << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return fail_parse(p, "\\u without four hexadecimal digits");
	}
	return 0;
}

static void add_code_point(struct str *b, uint32_t cp)
{
	if (cp < 0x80) {
		str_addc(b, (char)cp);
		return;
	}
	if (cp < 0x800) {
		str_addc(b, (char)(0xc0 | cp >> 6));
	} else {
		if (cp < 0x10000) {
			str_addc(b, (char)(0xe0 | cp >> 12));
		} else {
			str_addc(b, (char)(0xf0 | cp >> 18));
			str_addc(b, (char)(0x80 | (cp >> 12 & 0x3f)));
		}
		str_addc(b, (char)(0x80 | (cp >> 6 & 0x3f)));
	}
	str_addc(b, (char)(0x80 | (cp & 0x3f)));
}

/* Read the digits after "\u". */
static int read_unicode(struct parse *p)
{
	uint32_t cp, low;

	if (four_digits(p, &cp))
		return -1;
	if (cp >= 0xd800 && cp < 0xdc00) {
		if (!take_word(p, "\\u"))
			return fail_parse(p, "half of a surrogate pair");
		if (four_digits(p, &low))
			return -1;
		if (low < 0xdc00 || low > 0xdfff)
			return fail_parse(p, "half of a surrogate pair");
		cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
	} else if (cp >= 0xdc00 && cp < 0xe000) {
		return fail_parse(p, "half of a surrogate pair");
	}
	if (!cp)
		return fail_parse(p, "a string with a NUL in it");
	add_code_point(&p->string, cp);
	return 0;
}

static int read_escape(struct parse *p)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found = p->at < p->end && *p->at ? strchr(from, *p->at) : NULL;

	if (take_char(p, 'u'))
		return read_unicode(p);
	if (!found)
		return fail_here(p, "an escape");
	str_addc(&p->string, to[found - from]);
	p->at++;
	return 0;
}

/* Read a string after its opening quote, into p->string. */
static int read_string(struct parse *p)
{
	str_reset(&p->string);
	while (!take_char(p, '"')) {
		uint32_t cp;
		size_t len;

		if (p->at == p->end)
			return fail_parse(p, "a string without an end");
		if (take_char(p, '\\')) {
			if (read_escape(p))
				return -1;
			continue;
		}
		if ((unsigned char)*p->at < 0x20)
			return fail_parse(p, "a control character in a string");
		len = utf8_decode(p->at, (size_t)(p->end - p->at), &cp);
		if (!len)
			return fail_parse(p, "bytes that are not UTF-8 in a string");
		str_addn(&p->string, p->at, len);
		p->at += len;
	}
	return 0;
}

static const char *keep_string(struct parse *p)
{
	return arena_strndup(&p->doc->arena, p->string.s, p->string.n);
}

static int skip_digits(struct parse *p)
{
	if (!is_digit(p))
		return fail_here(p, "a digit");
	while (is_digit(p))
		p->at++;
	return 0;
}

static int read_number(struct parse *p, struct json *j)
{
	const char *start = p->at;
	char text[NUMBER_MAX + 1];
	bool whole = *p->at != '-';
	size_t n;

	take_char(p, '-');
	if (!take_char(p, '0') && skip_digits(p))
		return -1;
	if (take_char(p, '.')) {
		whole = false;
		if (skip_digits(p))
			return -1;
	}
	if (p->at < p->end && (*p->at | 0x20) == 'e') {
		whole = false;
		p->at++;
		if (!take_char(p, '+'))
			take_char(p, '-');
		if (skip_digits(p))
			return -1;
	}
	n = (size_t)(p->at - start);
	if (n > NUMBER_MAX)
		return fail_parse(p, "a number that goes on too long");
	memcpy(text, start, n);
	text[n] = 0;
	j->kind = JSON_NUMBER;
	j->number = strtod(text, NULL);
	j->is_u64 = whole;
	for (size_t i = 0; whole && i < n; i++)
		j->is_u64 = j->is_u64 && !__builtin_mul_overflow(j->u64, 10, &j->u64) &&
			    !__builtin_add_overflow(j->u64, (uint64_t)(text[i] - '0'), &j->u64);
	return 0;
}

static int read_value(struct parse *p, struct json *j);

/* Read the members after the opening bracket. */
static int read_members(struct parse *p, struct json *j, char close)
{
	struct json **tail = &j->first;

	if (p->depth++ == JSON_NESTING_MAX)
		return fail_parse(p, "nested too deep");
	skip_space(p);
	if (take_char(p, close)) {
		p->depth--;
		return 0;
	}
	for (;;) {
		struct json *member = arena_alloc(&p->doc->arena, sizeof *member);

		*member = (struct json){0};
		if (close == '}') {
			skip_space(p);
			if (!take_char(p, '"'))
				return fail_here(p, "a key");
			if (read_string(p))
				return -1;
			member->key = keep_string(p);
			skip_space(p);
			if (!take_char(p, ':'))
				return fail_here(p, "':'");
		}
		if (read_value(p, member))
			return -1;
		*tail = member;
		tail = &member->next;
		j->n++;
		skip_space(p);
		if (take_char(p, close)) {
			p->depth--;
			return 0;
		}
		if (!take_char(p, ','))
			return fail_here(p, close == '}' ? "',' or '}'" : "',' or ']'");
	}
}

static int read_value(struct parse *p, struct json *j)
{
	skip_space(p);
	j->line = p->line;
	if (take_char(p, '{')) {
		j->kind = JSON_OBJECT;
		return read_members(p, j, '}');
	}
	if (take_char(p, '[')) {
		j->kind = JSON_ARRAY;
		return read_members(p, j, ']');
	}
	if (take_char(p, '"')) {
		j->kind = JSON_STRING;
		if (read_string(p))
			return -1;
		j->string = keep_string(p);
		return 0;
	}
	if (is_digit(p) || (p->at < p->end && *p->at == '-'))
		return read_number(p, j);
	if (take_word(p, "null"))
		return 0;
	j->kind = JSON_BOOL;
	j->truth = take_word(p, "true");
	return j->truth || take_word(p, "false") ? 0 : fail_here(p, "a value");
}

int json_parse(struct json_doc *doc, const char *path, const char *text, size_t n, struct err *err)
{
	struct parse p = {
		.doc = doc, .at = text, .end = text + n, .line = 1, .string = STR_INIT, .err = err};
	int rc;

	*doc = (struct json_doc){.path = path};
	doc->root = arena_alloc(&doc->arena, sizeof *doc->root);
	*doc->root = (struct json){0};
	rc = read_value(&p, doc->root);
	if (!rc) {
		skip_space(&p);
		if (p.at < p.end)
			rc = fail_here(&p, "the end");
	}
	str_free(&p.string);
	if (rc)
		json_free(doc);
	return rc;
}

void json_free(struct json_doc *doc)
{
	arena_free(&doc->arena);
	*doc = (struct json_doc){0};
}

const struct json *json_member(const struct json *j, const char *key)
{
	if (!j || j->kind != JSON_OBJECT)
		return NULL;
	for (const struct json *m = j->first; m; m = m->next)
		if (!strcmp(m->key, key))
			return m;
	return NULL;
}

const char *json_kind_name(enum json_kind kind)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",       [JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
		[JSON_ARRAY] = "a list",    [JSON_OBJECT] = "an object",
	};

	return names[kind];
}
