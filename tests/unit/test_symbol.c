/* The resolver with names that are damaged, hostile or refer to nothing: no module is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "symbol/symbol.h"
#include "trace/recorded.h"

#include "base/banned.h"

static struct names names;
static struct names_resolver *resolver;

static uint32_t add(enum names_kind kind, const char *text)
{
	return table_append(&names.table[kind], text, strlen(text));
}

static int setup(void **state)
{
	(void)state;
	names_init(&names);
	add(NAMES_NOTE, RECORDED_NOTE);
	add(NAMES_THREAD, "T0");
	add(NAMES_THREAD, "T1");
	resolver = names.resolver = symbol_resolver_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	symbol_resolver_free(resolver);
	names_free(&names);
	return 0;
}

static void assert_shown(enum names_kind kind, uint32_t id, const char *want)
{
	struct str s = STR_INIT;

	resolver->show(resolver, &names, kind, id, &s);
	assert_string_equal(s.s, want);
	str_free(&s);
}

static size_t depth(strref place)
{
	const struct names_frame *f;

	return resolver->stack(resolver, &names, place, &f);
}

static void test_stack(void **state)
{
	const struct names_frame *f;
	struct str s = STR_INIT;
	strref place = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		str_reset(&s);
		str_fmt(&s, "%u ?+0x%x", place, 0x1001 + i);
		place = add(NAMES_STRING, s.s);
		if (i < 3)
			assert_int_equal(depth(place), i + 1);
	}
	str_free(&s);
	assert_int_equal(resolver->stack(resolver, &names, place, &f), 1025);
	assert_int_equal(f[0].offset, 0x1000 + 2999);
	assert_int_equal(f[1].offset, 0x1000 + 2998);
	assert_null(f[0].function);
	assert_string_equal(f[1024].function, "(1976 more)");
}

static void test_damaged_stacks(void **state)
{
	(void)state;
	assert_int_equal(depth(add(NAMES_STRING, "1 ?+0x10")), 1); /* 1: its own parent */
	assert_int_equal(depth(add(NAMES_STRING, "3 ?+0x10")),
			 1); /* 2 and 3: each other's parent */
	assert_int_equal(depth(add(NAMES_STRING, "2 ?+0x10")), 2);
	assert_int_equal(depth(add(NAMES_STRING, "999 ?+0x10")), 1);
	assert_int_equal(depth(add(NAMES_STRING, "f ?+0x10")), 0);
	assert_int_equal(depth(add(NAMES_STRING, "5 ?+0x10")), 1); /* its parent is a label */
	assert_int_equal(depth(add(NAMES_STRING, "0 77+0x0")), 1); /* no such module */
	assert_int_equal(depth(0), 0);
	assert_int_equal(depth(12345), 0);
	assert_int_equal(depth(STRREF_NUMBER | 3), 0);
}

static void test_threads(void **state)
{
	uint32_t creator;
	strref place;

	(void)state;
	add(NAMES_STRING, "0 ?+0x10");
	add(NAMES_NOTE, "thread 0 0 0 main");
	assert_false(resolver->created(resolver, &names, 0, &place, &creator));
	assert_false(resolver->created(resolver, &names, 1, &place, &creator));
	add(NAMES_NOTE, "thread 1 0 1 worker"); /* its note comes later */
	assert_true(resolver->created(resolver, &names, 1, &place, &creator));
	assert_int_equal(place, 1);
	assert_int_equal(creator, 0);
	add(NAMES_NOTE, "thread 1 1 9 again");
	assert_true(resolver->created(resolver, &names, 1, &place, &creator));
	add(NAMES_NOTE, "thread 2 0 99 x"); /* no such place */
	add(NAMES_NOTE, "thread 3 77 1 x"); /* no such thread */
	assert_false(resolver->created(resolver, &names, 2, &place, &creator));
	assert_false(resolver->created(resolver, &names, 3, &place, &creator));
	assert_false(resolver->created(resolver, &names, UINT32_MAX, &place, &creator));
}

static void test_memory(void **state)
{
	uint32_t heap = add(NAMES_VAR, "h 0x10 4 24 1"), lost = add(NAMES_VAR, "h 0x10 4 24 9");
	uint32_t twin = add(NAMES_VAR, "h 0x10 4 24 1"), stack = add(NAMES_VAR, "s 9 0x10 4");
	uint32_t global = add(NAMES_VAR, "g 4+0x10 4"), odd = add(NAMES_VAR, "g 4+0x10");

	(void)state;
	add(NAMES_STRING, "0 ?+0x11");
	assert_int_equal(resolver->allocated(resolver, &names, heap), 1);
	assert_int_equal(resolver->allocated(resolver, &names, lost), 0);
	assert_int_equal(resolver->allocated(resolver, &names, stack), 0);
	assert_int_equal(resolver->allocated(resolver, &names, 12345), 0);
	for (int again = 0; again < 2; again++) {
		assert_shown(NAMES_VAR, heap,
			     "heap allocation of 24 bytes, offset 16 (allocated at 0x10)");
		assert_shown(NAMES_VAR, twin,
			     "heap allocation of 24 bytes, offset 16 (allocated at 0x10) #2");
		assert_shown(NAMES_VAR, lost, "heap allocation of 24 bytes, offset 16");
		assert_shown(NAMES_VAR, stack, "stack of T9 at 0x10");
		assert_shown(NAMES_VAR, global, "4+0x10 (4 bytes)");
		assert_shown(NAMES_VAR, odd, "g 4+0x10");
	}
}

static void test_labels(void **state)
{
	strref marked = add(NAMES_STRING, "a x"), empty = add(NAMES_STRING, "a ");
	strref function = add(NAMES_STRING, "f 3+0x10"), gone = add(NAMES_STRING, "m 1+0x10");
	const struct names_frame *f;
	const char *const *warning;

	(void)state;
	add(NAMES_NOTE, "module 1 0x0 0 - /nowhere/prog");
	assert_null(resolver->function(resolver, &names, marked));
	assert_null(resolver->function(resolver, &names, function));
	assert_null(resolver->function(resolver, &names, 0));
	assert_int_equal(symbol_resolver_warnings(resolver, &warning), 0);
	f = resolver->function(resolver, &names, gone);
	assert_non_null(f);
	assert_null(f->function);
	assert_string_equal(f->module, "/nowhere/prog");
	assert_int_equal(f->offset, 0x10);
	assert_shown(NAMES_STRING, marked, "x");
	assert_shown(NAMES_STRING, empty, "(no name)");
	assert_shown(NAMES_STRING, function, "0x10");
	assert_shown(NAMES_STRING, gone, "prog+0x10");
	assert_int_equal(symbol_resolver_warnings(resolver, &warning), 1);
	assert_string_equal(warning[0], "/nowhere/prog is gone: no names for it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
