/* The place of a step; for a lock operation, the caller that wanted the lock. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "report/stack.h"
#include "report/step.h"

#include "base/banned.h"

/* The line that is reported for the step. Its frames have lines 1, 2, ... */
static uint32_t line_of(const char *op, const char *const *function, size_t n, const char *file)
{
	struct finding_frame frame[8] = {0};
	struct finding_step s = {.op = op, .stack = {frame, n}};
	const struct finding_frame *found;

	for (size_t i = 0; i < n; i++)
		frame[i] = (struct finding_frame){
			.function = function[i], .file = file, .line = (uint32_t)i + 1};
	found = stack_step_frame(&s);
	return found ? found->line : 0;
}

#define LINE_OF(op, ...)                                                                           \
	line_of(op, (const char *const[]){__VA_ARGS__},                                            \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), "a.c")

static void a_lock_is_where_it_was_wanted(void **state)
{
	(void)state;
	assert_int_equal(LINE_OF("acq", "sched_lock", "do_work"), 2);
	assert_int_equal(LINE_OF("rel", "xunlock", "sched_unlock", "do_work", "main"), 3);
	assert_int_equal(LINE_OF("rel", "ns::port::Mutex::Unlock()", "DB::Get(Key const&)"), 2);
	assert_int_equal(LINE_OF("acq", "Mutex::Lock()", "ns::MutexLock::MutexLock(ns::Mutex*)",
				 "ns::MutexLock::~MutexLock()", "f(int)"),
			 4);
	assert_int_equal(LINE_OF("racq", "table_rdlock", "lock_table", "find"), 3);
}

static void other_names_are_nobodys_locks(void **state)
{
	(void)state;
	assert_int_equal(LINE_OF("acq", "write_block", "main"), 1);
	assert_int_equal(LINE_OF("acq", "clock_tick", "main"), 1);
	assert_int_equal(LINE_OF("acq", "flock", "main"), 1);
	assert_int_equal(LINE_OF("acq", "(anonymous namespace)::f()", "main"), 1);
	assert_int_equal(LINE_OF("acq", "___", "main"), 1);
	assert_int_equal(LINE_OF("acq", "", "main"), 1);
	/* A memory access in such a function stays there. */
	assert_int_equal(LINE_OF("w", "sched_lock", "do_work"), 1);
}

static const char *shown(const char *label, size_t max)
{
	static char text[128];
	struct str b = STR_INIT;

	step_add_label(&b, label, max);
	assert_true(b.n < sizeof text);
	memcpy(text, b.s, b.n + 1);
	str_free(&b);
	return text;
}

static void a_long_name_keeps_what_tells(void **state)
{
	static const char wait[] = "void std::__atomic_wait_address<int, std::f()::{lambda()#1}>"
				   "(int const*, std::f()::{lambda()#1})";

	(void)state;
	assert_string_equal(shown("int get(long)", 20), "int get(long)");
	assert_string_equal(shown("get(long, long, long) const", 20), "get");
	assert_string_equal(shown("unsigned long max<int>(int, int)", 10), "max<int>");
	assert_string_equal(shown(wait, 40), "std::__atomic_wait_address");
	assert_string_equal(shown(wait, 22), "__atomic_wait_address");
	assert_string_equal(shown("std::barrier<std::__empty>::arrive(long)", 25),
			    "std::barrier::arrive");
	assert_string_equal(shown(wait, 12), "__atomic_w..");
	assert_string_equal(shown("a::b::barrier<int>::arrive(long)", 16), "barrier::arrive");
	assert_string_equal(shown("std::map<int, int>::operator[](int const&)", 22),
			    "std::map::operator[]");
	assert_string_equal(shown("bool a::operator< <int>(a::b<int>, a::b<int>)", 20),
			    "a::operator< <int>");
	assert_string_equal(shown("box::operator new(unsigned long)", 20), "box::operator new");
	assert_string_equal(shown("f(int) const::{lambda(int)#1}::operator()(int) const", 41),
			    "f(int) const::{lambda(int)#1}::operator()");
	assert_string_equal(shown("main()::<lambda(int)>::go(int, long)", 26),
			    "main()::<lambda(int)>::go");
	assert_string_equal(shown("ns::Klass<(3 > 2), int>::process_it(int, long)", 24),
			    "ns::Klass::process_it");
	assert_string_equal(shown("void ns::get_and_set(std::map<int, int>) const &", 15),
			    "ns::get_and_set");
	assert_string_equal(shown("ns::get_and_set(int, int) && [clone .isra.0]", 15),
			    "ns::get_and_set");
	assert_string_equal(shown("aaaaaaaaaaaaa::()", 4), "aa..");
	/* These are not function names. */
	assert_string_equal(shown("void of a block<x> y", 12), "void of a ..");
	assert_string_equal(shown("(", 1), "(");
	assert_string_equal(shown("", 0), "");
	assert_string_equal(shown("a<b(int, int, int)", 8), "a<b");
}

static void there_is_always_a_frame(void **state)
{
	const char *const unlock[] = {"unlock", "my_lock"};

	(void)state;
	assert_int_equal(line_of("rel", unlock, 2, "a.c"), 1);
	assert_int_equal(line_of("rel", unlock, 2, "/usr/include/a.h"), 1);
	assert_int_equal(line_of("rel", unlock, 2, NULL), 0);
	assert_int_equal(line_of("rel", unlock, 0, "a.c"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_is_where_it_was_wanted),
		cmocka_unit_test(other_names_are_nobodys_locks),
		cmocka_unit_test(a_long_name_keeps_what_tells),
		cmocka_unit_test(there_is_always_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
