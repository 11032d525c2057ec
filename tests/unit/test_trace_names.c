/* Equal names have the same number, different names different ones, whatever their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "trace/names.h"

#include "base/banned.h"

enum { LONGEST = 40, ROOM = 64 };

/* Interns the same text three times, followed by other bytes each time, which must not matter. */
static uint32_t intern(struct table *t, const char *s, size_t n)
{
	char buf[ROOM];
	uint32_t id;

	memset(buf, 0xff, sizeof buf);
	memcpy(buf, s, n);
	id = table_intern(t, buf, n);
	memset(buf + n, 0, sizeof buf - n);
	assert_int_equal(table_intern(t, buf, n), id);
	memset(buf + n, 'x', sizeof buf - n);
	assert_int_equal(table_intern(t, buf, n), id);
	assert_int_equal(table_intern_any(t, s, n), id);
	assert_int_equal(t->len[id], n);
	assert_memory_equal(t->text[id], s, n);
	assert_int_equal(t->text[id][n], 0);
	return id;
}

static void test_lengths(void **state)
{
	struct table t = {0};
	char text[LONGEST + 1];

	(void)state;
	memset(text, 'a', sizeof text);
	for (size_t n = 0; n <= LONGEST; n++)
		assert_int_equal(intern(&t, text, n), n);
	for (size_t n = LONGEST + 1; n-- > 0;)
		assert_int_equal(intern(&t, text, n), n);
	assert_int_equal(t.n, LONGEST + 1);
	table_reset(&t);
	assert_int_equal(t.n, 0);
	assert_int_equal(intern(&t, "again", 5), 0);
	table_reset(&t);
}

/* One byte makes a difference, at each position of each length. */
static void test_one_byte(void **state)
{
	static const char bytes[] = {0, 1, 'b', 0x7f, '\x80', '\xff'};
	struct table t = {0};
	uint32_t next = 0;

	(void)state;
	for (size_t n = 1; n <= LONGEST; n++)
		for (size_t at = 0; at < n; at++)
			for (size_t k = 0; k < sizeof bytes; k++) {
				char text[LONGEST];

				memset(text, 'a', sizeof text);
				text[at] = bytes[k];
				assert_int_equal(intern(&t, text, n), next);
				next++;
			}
	assert_int_equal(t.n, next);
	table_reset(&t);
}

/* The key of a short name differs from that of any other length, and from a hash. */
static void test_zero_bytes(void **state)
{
	static const char zeros[LONGEST] = {0};
	struct table t = {0};

	(void)state;
	for (size_t n = 0; n <= LONGEST; n++)
		assert_int_equal(intern(&t, zeros, n), n);
	table_reset(&t);
}

enum { MANY = 100000 };

static size_t nth(char buf[ROOM], uint32_t i)
{
	static const char *const forms[] = {"%u", "x%u", "a->b[%u].c", "a longer name, number %u"};

	memset(buf, 0, ROOM);
	return (size_t)snprintf(buf, ROOM, forms[i % 4], i);
}

/* A table grows, and its texts do not move. */
static void test_many(void **state)
{
	struct table t = {0};
	const char *first;
	char buf[ROOM];

	(void)state;
	table_intern_any(&t, "first", 5);
	first = t.text[0];
	for (uint32_t i = 1; i < MANY; i++)
		assert_int_equal(table_intern(&t, buf, nth(buf, i)), i);
	for (uint32_t i = MANY - 1; i > 0; i--)
		assert_int_equal(table_intern(&t, buf, nth(buf, i)), i);
	assert_int_equal(t.n, MANY);
	assert_ptr_equal(t.text[0], first);
	assert_string_equal(first, "first");
	for (uint32_t i = 1; i < MANY; i++) {
		size_t n = nth(buf, i);

		assert_int_equal(t.len[i], n);
		assert_memory_equal(t.text[i], buf, n + 1);
	}
	table_reset(&t);
}

/* A name that is larger than the pieces in which the pool grows. */
static void test_huge(void **state)
{
	size_t n = 200000;
	char *text = mem_zalloc(n + ROOM);
	struct table t = {0};

	(void)state;
	memset(text, 'a', n);
	assert_int_equal(table_intern(&t, "small and padded", 5), 0);
	assert_int_equal(table_intern(&t, text, n), 1);
	assert_int_equal(table_intern(&t, text, n - 1), 2);
	text[n / 2] = 'b';
	assert_int_equal(table_intern(&t, text, n), 3);
	text[n / 2] = 'a';
	assert_int_equal(table_intern(&t, text, n), 1);
	assert_int_equal(table_intern(&t, "small and padded", 5), 0);
	assert_int_equal(strlen(t.text[1]), n);
	table_reset(&t);
	mem_free(text);
}

static void test_append(void **state)
{
	struct table t = {0};

	(void)state;
	assert_int_equal(table_append(&t, "a", 1), 0);
	assert_int_equal(table_append(&t, "a", 1), 1);
	assert_int_equal(table_append(&t, "", 0), 2);
	assert_string_equal(t.text[1], "a");
	assert_string_equal(t.text[2], "");
	table_reset(&t);
}

static strref string(struct names *names, const char *s)
{
	char buf[ROOM];

	memset(buf, '7', sizeof buf); /* digits after it are not part of it */
	memcpy(buf, s, strlen(s));
	return names_string(names, buf, strlen(s));
}

/* A number exactly as it is printed needs no table. */
static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint32_t number;
		bool is_number;
	} rows[] = {
		{"0", 0, true},           {"7", 7, true},
		{"17", 17, true},         {"999999999", 999999999, true},
		{"00", 0, false},         {"017", 0, false},
		{"1000000000", 0, false}, {"4294967296", 0, false},
		{"2147483648", 0, false}, {"-1", 0, false},
		{"+1", 0, false},         {" 1", 0, false},
		{"1 ", 0, false},         {"1.0", 0, false},
		{"0x10", 0, false},       {"1e3", 0, false},
		{"x", 0, false},          {":", 0, false}, /* '9' + 1 */
		{"/", 0, false},                           /* '0' - 1 */
	};
	struct names names;
	uint32_t strings = 1;

	(void)state;
	names_init(&names);
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			strref ref = string(&names, rows[i].text);
			struct str out = STR_INIT;

			if (rows[i].is_number)
				assert_int_equal(ref, STRREF_NUMBER | rows[i].number);
			else if (!again)
				assert_int_equal(ref, strings++);
			assert_int_equal(names.table[NAMES_STRING].n, strings);
			names_add_string(&names, ref, &out);
			assert_string_equal(out.s, rows[i].text);
			str_free(&out);
		}
	names_free(&names);
}

static void test_none(void **state)
{
	struct str out = STR_INIT;
	struct names names;

	(void)state;
	names_init(&names);
	assert_int_equal(string(&names, ""), 0);
	names_add_string(&names, 0, &out);
	assert_string_equal(out.s, "");
	for (int k = 0; k < NAMES_KINDS; k++)
		assert_int_equal(names.table[k].n, k == NAMES_STRING);
	str_free(&out);
	names_free(&names);
}

/* Each operand is looked up in the table for its operation. */
static void test_operands(void **state)
{
	struct names names;
	struct str out = STR_INIT;

	(void)state;
	names_init(&names);
	table_intern_any(&names.table[NAMES_THREAD], "T", 1);
	table_intern_any(&names.table[NAMES_VAR], "a\0b", 3);
	table_intern_any(&names.table[NAMES_LOCK], "l", 1);
	assert_string_equal(names_thread(&names, 0), "T");
	for (enum op op = OP_BEGIN; op < OP_COUNT; op++) {
		static const char *const want[] = {
			[OPERAND_NONE] = "",    [OPERAND_VAR] = "a\0b", [OPERAND_LOCK] = "l",
			[OPERAND_THREAD] = "T", [OPERAND_LABEL] = "",   [OPERAND_SYNC] = "l",
		};
		enum operand_kind k = op_info[op].operand;
		struct event e = {.op = (uint8_t)op};

		str_reset(&out);
		names_add_operand(&names, &e, &out);
		assert_int_equal(out.n, k == OPERAND_VAR ? 3 : strlen(want[k]));
		assert_memory_equal(out.s, want[k], out.n);
	}
	str_reset(&out);
	names_add_operand(&names, &(struct event){.op = OP_BEGIN, .operand = STRREF_NUMBER | 12},
			  &out);
	assert_string_equal(out.s, "12");
	str_free(&out);
	names_free(&names);
}

/* Its own label, otherwise the place. */
static void test_label(void **state)
{
	(void)state;
	assert_int_equal(event_label(&(struct event){.op = OP_BEGIN, .operand = 3, .place = 4}), 3);
	assert_int_equal(event_label(&(struct event){.op = OP_BEGIN, .place = 4}), 4);
	assert_int_equal(event_label(&(struct event){.op = OP_BEGIN}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),    cmocka_unit_test(test_one_byte),
		cmocka_unit_test(test_zero_bytes), cmocka_unit_test(test_many),
		cmocka_unit_test(test_huge),       cmocka_unit_test(test_append),
		cmocka_unit_test(test_numbers),    cmocka_unit_test(test_none),
		cmocka_unit_test(test_operands),   cmocka_unit_test(test_label),
	};

	return cmocka_run_group_tests_name("trace_names", tests, NULL, NULL);
}
