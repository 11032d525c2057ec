/*
 * Errors in the bytes of a trace that do not depend on its events: fstat() fails,
 * or a text has a NUL byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "trace_fixture.h"

#include "base/banned.h"

/* Replaces the function of the C library. */
static int fstat_errno;

int fstat(int fd, struct stat *st)
{
	if (!fstat_errno)
		return fstatat(fd, "", st, AT_EMPTY_PATH);
	errno = fstat_errno;
	return -1;
}

static void test_no_fstat(void **state)
{
	const char *path = fixture_path("a.std");
	struct err err = {0};
	char want[300];

	(void)state;
	spit(path, "T|w(x)\n", 7);
	fstat_errno = EOVERFLOW;
	assert_null(reader_open(path, &(struct reader_options){0}, &err));
	fstat_errno = 0;
	snprintf(want, sizeof want, "%s: %s", path, strerror(EOVERFLOW));
	assert_string_equal(err.text, want);
	unlink(path);
}

/*
 * Writes `before` lines, then one of n bytes with a NUL byte at `at`, then another
 * unless `last`. The lines before it must be read, in a second pass too.
 */
static void try_nul(size_t before, char first, size_t n, size_t at, bool last, const char *why)
{
	const char *path = fixture_path("nul.std");
	struct str text = STR_INIT, got = STR_INIT;
	struct err err = {0};
	struct reader *r;
	char want[300];

	for (size_t i = 0; i < before; i++)
		str_add(&text, "T1|w(x)|a.c:12\n");
	str_addc(&text, first);
	str_add(&text, "2|w(x)|");
	str_pad(&text, 'p', n - 8);
	text.s[text.n - n + at] = 0;
	if (!last)
		str_add(&text, "\nT1|w(x)\n");
	spit(path, text.s, text.n);
	r = reader_open(path, &(struct reader_options){.rewindable = true}, &err);
	assert_non_null(r);
	snprintf(want, sizeof want, "%s:%zu: %s", path, before + 1, why);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(read_on(r, &got, &err), before);
		assert_string_equal(err.text, want);
		assert_int_equal(reader_rewind(r, &err), 0);
	}
	reader_close(r);
	unlink(path);
	str_free(&text);
	str_free(&got);
}

static void test_nul(void **state)
{
	/* The input's window has a few hundred thousand bytes. */
	static const size_t befores[] = {0, 1, 2, 1023, 1024, 1025, 17475, 17476, 17477, 60000};
	static const size_t places[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 19};

	(void)state;
	for (size_t i = 0; i < N(befores); i++)
		for (size_t k = 0; k < N(places); k++) {
			try_nul(befores[i], 'T', 20, places[k], false, "a NUL byte");
			try_nul(befores[i], 'T', 20, places[k], true, "a NUL byte");
		}
	try_nul(3, '#', 20, 10, false, "a NUL byte");
	try_nul(3, 'T', 1 << 20, 10, false, "a NUL byte");
	try_nul(3, 'T', 1 << 20, (1 << 20) - 1, true, "a NUL byte");
	/* A line that is too long is reported first, however much of it is in the window. */
	try_nul(3, 'T', (1 << 20) + 1, 10, false, "line is longer than 1048576 bytes");
	try_nul(3, 'T', 1 << 22, 10, false, "line is longer than 1048576 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_fstat),
		cmocka_unit_test(test_nul),
	};

	return cmocka_run_group_tests_name("trace_input", tests, fixture_setup, fixture_teardown);
}
