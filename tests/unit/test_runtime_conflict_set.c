/* The set holds memory that one thread writes and another thread accesses. */
#define ATOMSAN_MAY_MALLOC
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/report/conflict_set.c"

static bool no_memory;

void *rt_pages(size_t bytes)
{
	return no_memory ? NULL : calloc(1, bytes);
}

enum { A = 1, B = 2, C = 3 };
static const uint64_t at = 0x10000;

static void test_conflicts(void **state)
{
	(void)state;
	conflict_set_begin();
	conflict_set_add_write(A, at, 8);      /* and reads it */
	conflict_set_add_write(A, at + 8, 8);  /* and B reads it */
	conflict_set_add_write(A, at + 16, 4); /* and B writes it */
	conflict_set_add_write(B, at + 20, 4);
	conflict_set_add_write(A, at + 64, 64); /* and C reads some of it */
	conflict_set_add_read(A, at, 8);
	conflict_set_add_read(B, at + 8, 1);
	conflict_set_add_read(A, at + 24, 8); /* as B does */
	conflict_set_add_read(B, at + 24, 8);
	conflict_set_add_read(C, at + 96, 16);
	assert_false(conflict_set_has(at, 8));
	assert_true(conflict_set_has(at + 8, 8));
	assert_true(conflict_set_has(at + 16, 1));
	assert_false(conflict_set_has(at + 24, 8));
	assert_false(conflict_set_has(at + 64, 32));
	assert_true(conflict_set_has(at + 64, 33));
	assert_true(conflict_set_has(at + 4, 8)); /* a part of it does */
	conflict_set_end();
}

static void test_begin_empties(void **state)
{
	(void)state;
	conflict_set_begin();
	conflict_set_add_write(A, at, 8);
	conflict_set_add_read(B, at, 8);
	assert_true(conflict_set_has(at, 8));
	conflict_set_end();
	conflict_set_begin();
	conflict_set_add_read(B, at, 8);
	assert_false(conflict_set_has(at, 8));
	conflict_set_end();
}

/* Outside begin and end, after too many cells, and without memory, the set holds everything. */
static void test_holds_everything(void **state)
{
	(void)state;
	assert_true(conflict_set_has(at, 8));
	conflict_set_begin();
	conflict_set_add_write(A, at, 1ull << 40);
	assert_true(conflict_set_has(at - 8, 8));
	conflict_set_end();
	free(table);
	table = NULL;
	no_memory = true;
	conflict_set_begin();
	conflict_set_add_write(A, at, 8);
	assert_true(conflict_set_has(at, 8));
	conflict_set_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_begin_empties),
		cmocka_unit_test(test_holds_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
