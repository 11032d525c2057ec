/* The JSON reader: what it accepts, and its messages about what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

#include "base/banned.h"

static struct json_doc doc;

static const struct json *parse(const char *text)
{
	struct err err = {{0}};

	if (json_parse(&doc, "x", text, strlen(text), &err))
		fail_msg("'%s' is refused: %s", text, err.text);
	return doc.root;
}

static void test_values(void **state)
{
	const struct json *j =
		parse(" {\"a\": [1, -2.5e1, true, false, null, \"x\"],\n\"b\": {}} ");
	const struct json *m;

	(void)state;
	assert_int_equal(j->kind, JSON_OBJECT);
	assert_int_equal(j->n, 2);
	m = json_member(j, "a");
	assert_int_equal(m->n, 6);
	m = m->first;
	assert_true(m->is_u64 && m->u64 == 1);
	m = m->next;
	assert_true(!m->is_u64 && m->number == -25);
	m = m->next;
	assert_true(m->kind == JSON_BOOL && m->truth);
	m = m->next;
	assert_true(m->kind == JSON_BOOL && !m->truth);
	m = m->next;
	assert_int_equal(m->kind, JSON_NULL);
	assert_string_equal(m->next->string, "x");
	m = json_member(j, "b");
	assert_true(m->kind == JSON_OBJECT && m->n == 0 && m->line == 2);
	assert_null(json_member(j, "c"));
	assert_null(json_member(NULL, "c"));
	json_free(&doc);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool whole;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"99999999999999999999999", false, 0},
		{"-1", false, 0},
		{"1.0", false, 0},
		{"1e3", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct json *j = parse(cases[i].text);

		assert_int_equal(j->kind, JSON_NUMBER);
		assert_int_equal(j->is_u64, cases[i].whole);
		if (j->is_u64)
			assert_true(j->u64 == cases[i].value);
		json_free(&doc);
	}
}

static void test_strings(void **state)
{
	(void)state;
	assert_string_equal(parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")->string, "\"\\/\b\f\n\r\t");
	json_free(&doc);
	assert_string_equal(parse("\"\\u0041\\u00e4\\u20AC\\ud83d\\ude00\"")->string,
			    "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	json_free(&doc);
	/* If a key occurs twice, the first counts. */
	assert_string_equal(json_member(parse("{\"a\": \"1\", \"a\": \"2\"}"), "a")->string, "1");
	json_free(&doc);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "x:1: it ends where a value should be"},
		{"\n\n [1,", "x:3: it ends where a value should be"},
		{"[1 2]", "x:1: '2' where ',' or ']' should be"},
		{"{\"a\" 1}", "x:1: '1' where ':' should be"},
		{"{a: 1}", "x:1: 'a' where a key should be"},
		{"{\"a\": 1,}", "x:1: '}' where a key should be"},
		{"[1] 2", "x:1: '2' where the end should be"},
		{"tru", "x:1: 't' where a value should be"},
		{"01", "x:1: '1' where the end should be"},
		{"-", "x:1: it ends where a digit should be"},
		{"1.", "x:1: it ends where a digit should be"},
		{"1e+", "x:1: it ends where a digit should be"},
		{"\"a", "x:1: a string without an end"},
		{"\"\\q\"", "x:1: 'q' where an escape should be"},
		{"\"\\u12g4\"", "x:1: \\u without four hexadecimal digits"},
		{"\"\\u0000\"", "x:1: a string with a NUL in it"},
		{"\"\\ud800\"", "x:1: half of a surrogate pair"},
		{"\"\\ud800\\u0041\"", "x:1: half of a surrogate pair"},
		{"\"\\udc00\"", "x:1: half of a surrogate pair"},
		{"\"\xff\"", "x:1: bytes that are not UTF-8 in a string"},
		{"\"\n\"", "x:1: a control character in a string"},
		{"\xef\xbb\xbf{}", "x:1: '\\xef' where a value should be"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = {{0}};

		assert_int_equal(json_parse(&doc, "x", cases[i].text, strlen(cases[i].text), &err),
				 -1);
		assert_string_equal(err.text, cases[i].says);
	}
}

static void test_depth(void **state)
{
	char text[2 * JSON_NESTING_MAX + 2];
	struct err err = {{0}};

	(void)state;
	memset(text, '[', JSON_NESTING_MAX);
	memset(text + JSON_NESTING_MAX, ']', JSON_NESTING_MAX);
	assert_int_equal(json_parse(&doc, "x", text, 2 * JSON_NESTING_MAX, &err), 0);
	json_free(&doc);
	memset(text, '[', JSON_NESTING_MAX + 1);
	memset(text + JSON_NESTING_MAX + 1, ']', JSON_NESTING_MAX + 1);
	assert_int_equal(json_parse(&doc, "x", text, 2 * JSON_NESTING_MAX + 2, &err), -1);
	assert_string_equal(err.text, "x:1: nested too deep");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),  cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
