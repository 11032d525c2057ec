/* Growing strings, how untrusted bytes are shown, error messages, and arenas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include "base/banned.h"

static void test_grow(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	assert_string_equal(s.s, "");
	str_reset(&s);
	str_free(&s); /* nothing was allocated yet */
	assert_string_equal(s.s, "");

	str_add(&s, "one");
	str_addc(&s, ' ');
	str_addn(&s, "two three", 3);
	str_pad(&s, '.', 3);
	str_pad(&s, '.', 0);
	str_add(&s, "");
	str_fmt(&s, "%d%%", 50);
	str_fmt(&s, "%s", "");
	assert_string_equal(s.s, "one two...50%");
	assert_int_equal(s.n, strlen(s.s));

	str_reset(&s);
	assert_string_equal(s.s, "");
	assert_int_equal(s.n, 0);
	str_addn(&s, "a\0b", 3);
	assert_int_equal(s.n, 3);
	assert_memory_equal(s.s, "a\0b", 4);

	str_free(&s);
	assert_string_equal(s.s, "");
	str_add(&s, "again");
	assert_string_equal(s.s, "again");
	str_free(&s);
}

/* Room for no bytes is room for the terminator. */
static void test_room(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	str_room(&s, 0);
	assert_true(s.cap >= 1);
	assert_string_equal(s.s, "");
	str_room(&s, 10000);
	assert_true(s.cap > 10000);
	assert_string_equal(s.s, "");
	assert_int_equal(s.n, 0);
	str_free(&s);
}

static void test_long(void **state)
{
	struct str s = STR_INIT, t = STR_INIT;

	(void)state;
	for (int i = 0; i < 20000; i++)
		str_fmt(&s, "%d,", i);
	str_fmt(&t, "%s|%s", s.s, s.s);
	assert_int_equal(t.n, 2 * s.n + 1);
	assert_memory_equal(t.s + s.n + 1, s.s, s.n + 1);
	str_free(&s);
	str_free(&t);
}

#define BYTES(s) s, sizeof(s) - 1

static void test_shown(void **state)
{
	static const struct {
		const char *bytes;
		size_t n, max;
		const char *want;
	} rows[] = {
		{BYTES(""), 10, ""},
		{BYTES(""), 0, ""},
		{BYTES("abc"), 3, "abc"},
		{BYTES("abcd"), 3, "abc..."},
		{BYTES("abc"), 0, "..."},
		{BYTES(" ~"), 10, " ~"},
		{BYTES("a\0b"), 10, "a\\x00b"},
		{BYTES("\x1b[31m"), 10, "\\x1b[31m"},
		{BYTES("\t\n\r\x7f"), 10, "\\x09\\x0a\\x0d\\x7f"},
		{BYTES("gr\xc3\xb6\xc3\x9f"), 10, "gr\xc3\xb6\xc3\x9f"},
		{BYTES("\xe5\x8f\x98\xf0\x9f\x98\x80"), 10, "\xe5\x8f\x98\xf0\x9f\x98\x80"},
		/* The limit counts bytes of the input; no character is cut in two. */
		{BYTES("gr\xc3\xb6"), 4, "gr\xc3\xb6"},
		{BYTES("gr\xc3\xb6"), 3, "gr..."},
		{BYTES("\xff\xff\xff"), 2, "\\xff\\xff..."},
		/* Cut off, stray, overlong, a surrogate, above the last. */
		{BYTES("\xc3"), 10, "\\xc3"},
		{BYTES("\xc3z"), 10, "\\xc3z"},
		{BYTES("\xe5\x8f"), 10, "\\xe5\\x8f"},
		{BYTES("\x80z"), 10, "\\x80z"},
		{BYTES("\xc0\xaf"), 10, "\\xc0\\xaf"},
		{BYTES("\xe0\x80\xaf"), 10, "\\xe0\\x80\\xaf"},
		{BYTES("\xed\xa0\x80"), 10, "\\xed\\xa0\\x80"},
		{BYTES("\xf4\x90\x80\x80"), 10, "\\xf4\\x90\\x80\\x80"},
		{BYTES("\xf8\x88\x80\x80\x80"), 10, "\\xf8\\x88\\x80\\x80\\x80"},
		/* The second set of control characters: 0x9b begins an escape sequence. */
		{BYTES("\xc2\x9b"), 10, "\\xc2\\x9b"},
		{BYTES("\xc2\xa0"), 10, "\xc2\xa0"},
	};
	struct str s = STR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		str_reset(&s);
		str_addc(&s, '<');
		str_add_shown(&s, rows[i].bytes, rows[i].n, rows[i].max);
		assert_string_equal(s.s + 1, rows[i].want);
		assert_int_equal(s.n, strlen(s.s));
	}
	str_free(&s);
}

/* Whatever the input is, the shown text has no byte that controls a terminal. */
static void test_shown_harmless(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			char bytes[2] = {(char)a, (char)b};

			str_reset(&s);
			str_add_shown(&s, bytes, 2, 10);
			for (size_t i = 0; i < s.n;) {
				uint32_t cp = 0;
				size_t len = utf8_decode(s.s + i, s.n - i, &cp);

				assert_true(len > 0);
				assert_true(cp >= 0x20 && (cp < 0x7f || cp >= 0xa0));
				i += len;
			}
		}
	str_free(&s);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint32_t cp;
		size_t columns;
	} rows[] = {
		{"a", 1, 'a', 1},
		{"\x7f", 1, 0x7f, 1},
		{"\xc2\x80", 2, 0x80, 1},
		{"\xdf\xbf", 2, 0x7ff, 1},
		{"\xe0\xa0\x80", 3, 0x800, 1},
		{"\xef\xbf\xbd", 3, 0xfffd, 1},
		{"\xf0\x90\x80\x80", 4, 0x10000, 1},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff, 1},
		{"\xe5\x8f\x98", 3, 0x53d8, 2},      /* Chinese */
		{"\xf0\x9f\x98\x80", 4, 0x1f600, 2}, /* a face */
		{"\xcc\x88", 2, 0x308, 0},           /* a diaeresis on the letter before */
		{"\xe2\x80\x8b", 3, 0x200b, 0},      /* a space of no width */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].bytes);
		uint32_t cp = 0;

		assert_int_equal(utf8_decode(rows[i].bytes, n, &cp), rows[i].len);
		assert_int_equal(cp, rows[i].cp);
		assert_int_equal(utf8_columns(cp), rows[i].columns);
		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(utf8_decode(rows[i].bytes, cut, &cp), 0);
	}
}

static void test_err(void **state)
{
	struct err e = {0};

	(void)state;
	assert_false(err_is_set(&e));
	assert_int_equal(err_fail(&e, "%s:%d: no '%s'", "x.std", 3, ")"), -1);
	assert_true(err_is_set(&e));
	assert_string_equal(e.text, "x.std:3: no ')'");
	assert_int_equal(err_wrap(&e, "pass %d", 2), -1);
	assert_string_equal(e.text, "pass 2: x.std:3: no ')'");
	assert_int_equal(err_fail(&e, "another"), -1);
	assert_string_equal(e.text, "another");
	errno = ENOENT;
	assert_int_equal(err_sys(&e, "%s", "none"), -1);
	assert_string_equal(e.text, "none: No such file or directory");
}

/* A text that does not fit is cut off and still terminated. */
static void test_err_long(void **state)
{
	char text[2000];
	struct err e = {0};

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	err_fail(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	err_wrap(&e, "in front");
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_memory_equal(e.text, "in front: xxx", 13);
	err_wrap(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	errno = ENOENT;
	err_sys(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void test_mem_grow(void **state)
{
	struct {
		uint64_t a;
		char b;
	} *v = NULL;
	size_t n = 0, cap = 0;

	(void)state;
	for (; n < 1000; n++) {
		MEM_GROW0(v, cap, n + 1);
		assert_true(cap > n);
		assert_true(v[n].a == 0 && v[n].b == 0);
		v[n].a = n;
		v[n].b = 'b';
	}
	for (size_t i = 0; i < n; i++)
		assert_true(v[i].a == i && v[i].b == 'b');
	mem_free(v);
}

/* Pieces of any size do not overlap and do not move. */
static void test_arena(void **state)
{
	struct arena a = {0};
	char *piece[400];

	(void)state;
	for (size_t i = 0; i < 400; i++) {
		piece[i] = arena_alloc(&a, i * 7);
		assert_int_equal((uintptr_t)piece[i] % 16, 0);
		memset(piece[i], (int)(i & 0xff), i * 7);
	}
	for (size_t i = 0; i < 400; i++)
		for (size_t k = 0; k < i * 7; k++)
			assert_int_equal(piece[i][k], (char)(i & 0xff));
	assert_string_equal(arena_strdup(&a, "abc"), "abc");
	assert_string_equal(arena_strndup(&a, "abc", 2), "ab");
	arena_free(&a);
	assert_null(a.head);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_shown_harmless),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_err_long),
		cmocka_unit_test(test_mem_grow),
		cmocka_unit_test(test_arena),
	};

	return cmocka_run_group_tests_name("base_str", tests, NULL, NULL);
}
