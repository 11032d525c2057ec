/* Whole files, as base/file.h promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

static char path[] = "/tmp/atomsan-test-file.XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 || close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_round_trip(void **state)
{
	static char bytes[200000];
	struct str text = STR_INIT;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7 % 256);
	assert_int_equal(file_replace(path, bytes, sizeof bytes, &err), 0);
	str_add(&text, "before ");
	assert_int_equal(file_read(path, &text, &err), 0);
	assert_int_equal(text.n, strlen("before ") + sizeof bytes);
	assert_memory_equal(text.s, "before ", strlen("before "));
	assert_memory_equal(text.s + strlen("before "), bytes, sizeof bytes);
	assert_int_equal(text.s[text.n], 0);
	str_free(&text);
}

static void test_empty(void **state)
{
	struct str text = STR_INIT;
	struct err err = {0};

	(void)state;
	assert_int_equal(file_replace(path, "", 0, &err), 0);
	assert_int_equal(file_read(path, &text, &err), 0);
	assert_int_equal(text.n, 0);
	assert_string_equal(text.s, "");
	str_free(&text);
}

static void test_not_there(void **state)
{
	struct str text = STR_INIT;
	struct err err = {0};

	(void)state;
	assert_int_equal(file_read("/nowhere/at/all", &text, &err), -1);
	assert_string_equal(err.text, "/nowhere/at/all: No such file or directory");
	err = (struct err){0};
	assert_int_equal(file_read("/", &text, &err), -1);
	assert_string_equal(err.text, "/: Is a directory");
	str_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_not_there),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
