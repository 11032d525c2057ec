/* Which memory a report describes: memory that is written, and accessed by another thread. */
#define ATOMSAN_MAY_MALLOC
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/report/sharing.c"

static bool no_memory;

void *rt_pages(size_t bytes)
{
	return no_memory ? NULL : calloc(1, bytes);
}

enum { A = 1, B = 2, C = 3 };
static const uint64_t at = 0x10000;

static void who_writes_what(void **state)
{
	(void)state;
	sharing_begin();
	sharing_write(A, at, 8);      /* and reads it */
	sharing_write(A, at + 8, 8);  /* and B reads it */
	sharing_write(A, at + 16, 4); /* and B writes it */
	sharing_write(B, at + 20, 4);
	sharing_write(A, at + 64, 64); /* and C reads some of it */
	sharing_read(A, at, 8);
	sharing_read(B, at + 8, 1);
	sharing_read(A, at + 24, 8); /* as B does */
	sharing_read(B, at + 24, 8);
	sharing_read(C, at + 96, 16);
	assert_false(sharing_is_shared(at, 8));
	assert_true(sharing_is_shared(at + 8, 8));
	assert_true(sharing_is_shared(at + 16, 1));
	assert_false(sharing_is_shared(at + 24, 8));
	assert_false(sharing_is_shared(at + 64, 32));
	assert_true(sharing_is_shared(at + 64, 33));
	assert_true(sharing_is_shared(at + 4, 8)); /* a part of it is */
	sharing_end();
}

static void forgotten(void **state)
{
	(void)state;
	sharing_begin();
	sharing_write(A, at, 8);
	sharing_read(B, at, 8);
	assert_true(sharing_is_shared(at, 8));
	sharing_end();
	sharing_begin();
	sharing_read(B, at, 8);
	assert_false(sharing_is_shared(at, 8));
	sharing_end();
}

/* Then all is. */
static void unknown(void **state)
{
	(void)state;
	assert_true(sharing_is_shared(at, 8));
	sharing_begin();
	sharing_write(A, at, 1ull << 40);
	assert_true(sharing_is_shared(at - 8, 8));
	sharing_end();
	free(toucher);
	toucher = NULL;
	no_memory = true;
	sharing_begin();
	sharing_write(A, at, 8);
	assert_true(sharing_is_shared(at, 8));
	sharing_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_writes_what),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
