/* Names of recorded runs: a valid text is parsed completely, any other is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/recorded.h"

#include "base/banned.h"

#define N(v) (sizeof(v) / sizeof((v)[0]))

/* Each prints a parsed name as the recorder writes it: the text must be the same as before. */
static void add_pc(struct str *s, const struct recorded_pc *pc)
{
	if (pc->module)
		str_fmt(s, "%" PRIu32 "+0x%" PRIx64, pc->module, pc->offset);
	else
		str_fmt(s, "?+0x%" PRIx64, pc->offset);
}

static bool place(const char *text, struct str *s)
{
	struct recorded_place p;

	if (!recorded_place(text, &p))
		return false;
	str_fmt(s, "%" PRIu32 " ", p.parent);
	add_pc(s, &p.pc);
	return true;
}

static bool label(const char *text, struct str *s)
{
	struct recorded_label l;

	if (!recorded_label(text, &l))
		return false;
	str_fmt(s, "%c ", l.kind);
	if (l.kind == 'a')
		str_add(s, l.text);
	else
		add_pc(s, &l.pc);
	return true;
}

static bool memory(const char *text, struct str *s)
{
	struct recorded_memory m;

	if (!recorded_memory(text, &m))
		return false;
	if (m.lock) {
		str_addn(s, m.lock, m.lock_len);
		str_addc(s, ' ');
	}
	str_fmt(s, "%c ", m.kind);
	if (m.kind == 'g') {
		add_pc(s, &m.pc);
		str_fmt(s, " %" PRIu64, m.size);
	} else if (m.kind == 'h') {
		str_fmt(s, "0x%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu32, m.offset, m.size,
			m.bytes, m.place);
	} else {
		if (m.kind == 's')
			str_fmt(s, "%" PRIu32 " ", m.thread);
		str_fmt(s, "0x%" PRIx64 " %" PRIu64, m.address, m.size);
	}
	return true;
}

static bool module(const char *text, struct str *s)
{
	struct recorded_module m;

	if (!recorded_module(text, &m))
		return false;
	str_fmt(s, "module %" PRIu32 " 0x%" PRIx64 " %" PRIu64 " ", m.number, m.base, m.size);
	str_addn(s, m.build_id_len ? m.build_id : "-", m.build_id_len ? m.build_id_len : 1);
	str_fmt(s, " %s", m.path);
	return true;
}

static bool thread(const char *text, struct str *s)
{
	struct recorded_thread t;

	if (!recorded_thread(text, &t))
		return false;
	str_fmt(s, "thread %" PRIu32 " %" PRIu32 " %" PRIu32 " %s", t.number, t.creator, t.place,
		t.name);
	return true;
}

static const struct {
	bool (*read)(const char *text, struct str *s);
	const char *good[16], *bad[40];
} kinds[] = {
	{place,
	 {"0 1+0x1000", "7 ?+0x0", "2147483647 4294967295+0xffffffffffffffff", "12 3+0xabcdef"},
	 {"",
	  " ",
	  "0",
	  "0 ",
	  "0 1",
	  "0 1+",
	  "0 1+0x",
	  "0 1+1000",
	  "0 1+0xg",
	  "0 0+0x1",
	  "0 1+0x1 ",
	  "0  1+0x1",
	  " 0 1+0x1",
	  "-1 1+0x1",
	  "+1 1+0x1",
	  "00 1+0x1",
	  "01 1+0x1",
	  "2147483648 1+0x1",
	  "99999999999999999999 1+0x1",
	  "0 4294967296+0x1",
	  "0 1+0x10000000000000000",
	  "0 1+0xABC",
	  "0 1+0X1",
	  "0 1-0x1",
	  "0 ?0x1",
	  "0 ?+",
	  "0 ? +0x1",
	  "f 1+0x1",
	  "0\t1+0x1",
	  "0 1+0x1\n",
	  "x 1+0x1",
	  "0 1 +0x1",
	  "0 1+ 0x1",
	  "0 01+0x1"}},
	{label,
	 {"f 1+0x10", "s 2+0x20", "m ?+0x7f00", "a deposit", "a with spaces, and (more)", "a ",
	  "a f 1+0x1"},
	 {"", "f", "f ", "a", "g 1+0x1", "f1+0x1", "f  1+0x1", "f 1+0x1 ", "f 1", "F 1+0x1",
	  "ff 1+0x1", "f 0+0x1", "m main", "s ?", " f 1+0x1", "1 1+0x1", "f\t1+0x1"}},
	{memory,
	 {"g 1+0x4010 4", "h 0x8 8 24 17", "s 3 0x7ffd0010 4", "o 0x7f0000000000 8",
	  "mutex g 1+0x4010 40", "rwlock h 0x0 56 64 3", "spinlock s 0 0x10 4",
	  "semaphore o 0x20 32", "condition g 2+0x0 48", "barrier o 0x1 32", "once g 1+0x1 4",
	  "g 1+0x0 18446744073709551615"},
	 {"",
	  "g",
	  "g ",
	  "g 1+0x4010",
	  "g 1+0x4010 ",
	  "g 1+0x4010 x",
	  "g 1+0x4010 4 ",
	  "g 1+0x4010 4 4",
	  "g ?+0x4010 4",
	  "g 0+0x4010 4",
	  "g 1+0x4010 18446744073709551616",
	  "g 1+0x4010 04",
	  "h 8 8 24 17",
	  "h 0x8 8 24",
	  "h 0x8 8 24 ",
	  "h 0x8 8 24 2147483648",
	  "h 0x8 8 24 -1",
	  "h 0x8  8 24 17",
	  "s 0x7ffd 4",
	  "s 3 0x7ffd",
	  "s T3 0x7ffd 4",
	  "s 4294967296 0x1 4",
	  "o 8",
	  "o 0x1",
	  "o 0x1 -4",
	  "x 0x1 4",
	  "mutex",
	  "mutex ",
	  "mutex g",
	  "mutex  g 1+0x1 4",
	  "mutexg 1+0x1 4",
	  "lock g 1+0x1 4",
	  "Mutex g 1+0x1 4",
	  "mutex mutex g 1+0x1 4",
	  "mutex x 0x1 4",
	  " g 1+0x1 4",
	  "g  1+0x1 4",
	  "mute g 1+0x1 4",
	  "mutex\tg 1+0x1 4"}},
	{module,
	 {"module 1 0x0 0 - /bin/true", "module 2 0x7f0000 4096 0123abcdef /a b/c",
	  "module 4294967295 0xffffffffffffffff 18446744073709551615 00 x"},
	 {"",
	  "module",
	  "module ",
	  "module 1",
	  "module 0 0x0 0 - /x",
	  "module 1 0x0 0 - ",
	  "module 1 0x0 0 -",
	  "module 1 0x0 0  /x",
	  "module 1 0x0 0 abc /x",
	  "module 1 0x0 0 AB /x",
	  "module 1 0x0 0 ag /x",
	  "module 1 0x0 0 -ab /x",
	  "module 1 x 0 - /x",
	  "module 1 0x 0 - /x",
	  "module 1 0x0 0x1 - /x",
	  "module 4294967296 0x0 0 - /x",
	  "modules 1 0x0 0 - /x",
	  "module  1 0x0 0 - /x",
	  "thread 1 0 0 x",
	  "module -1 0x0 0 - /x"}},
	{thread,
	 {"thread 0 0 0 ", "thread 1 0 17 worker", "thread 4294967295 4294967294 2147483647 a b"},
	 {"", "thread", "thread ", "thread 1", "thread 1 0", "thread 1 0 17", "thread T1 0 17 x",
	  "thread 1 T0 17 x", "thread 1 0 2147483648 x", "thread 1 0 x y", "thread  1 0 17 x",
	  "thread 4294967296 0 0 x", "threads 1 0 0 x", "thread -1 0 0 x"}},
};

static void test_round_trip(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	for (size_t k = 0; k < N(kinds); k++)
		for (size_t i = 0; kinds[k].good[i]; i++) {
			str_reset(&s);
			if (!kinds[k].read(kinds[k].good[i], &s))
				fail_msg("refused: '%s'", kinds[k].good[i]);
			assert_string_equal(s.s, kinds[k].good[i]);
		}
	str_free(&s);
}

static void test_bad(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	for (size_t k = 0; k < N(kinds); k++)
		for (size_t i = 0; kinds[k].bad[i]; i++)
			if (kinds[k].read(kinds[k].bad[i], &s))
				fail_msg("taken: '%s' as '%s'", kinds[k].bad[i], s.s);
	str_free(&s);
}

/* No text is accepted by two parsers; "s PC" and "s THREAD ADDRESS SIZE" differ too. */
static void test_kinds_apart(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	for (size_t k = 0; k < N(kinds); k++)
		for (size_t i = 0; kinds[k].good[i]; i++)
			for (size_t other = 0; other < N(kinds); other++)
				if (other != k && kinds[other].read(kinds[k].good[i], &s))
					fail_msg("'%s' is two things", kinds[k].good[i]);
	str_free(&s);
}

/* A text cut anywhere is refused or has a shorter meaning: no parser reads past the end. */
static void test_cut(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	for (size_t k = 0; k < N(kinds); k++)
		for (size_t i = 0; kinds[k].good[i]; i++)
			for (size_t n = 0; n < strlen(kinds[k].good[i]); n++) {
				char *cut = mem_strndup(kinds[k].good[i], n);

				str_reset(&s);
				if (kinds[k].read(cut, &s))
					assert_string_equal(s.s, cut);
				mem_free(cut);
			}
	str_free(&s);
}

static void test_base_decimal(void **state)
{
	struct recorded_module m;

	(void)state;
	assert_true(recorded_module("module 1 4096 7 - /x", &m));
	assert_int_equal(m.base, 4096);
	assert_int_equal(m.size, 7);
	assert_int_equal(m.build_id_len, 0);
	assert_string_equal(m.path, "/x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_bad),
		cmocka_unit_test(test_kinds_apart),  cmocka_unit_test(test_cut),
		cmocka_unit_test(test_base_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
