/* Finding programs on PATH, as execvp() does; and the clock, which never runs backwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"

#include "base/banned.h"

static char folder[64];

static void make_program(const char *name, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
}

/*
 * Makes the folders a and b. `both` is a program in both of them; `late` is one only in b, since in
 * a it is not executable.
 */
static int set_up(void **state)
{
	char path[128];

	(void)state;
	snprintf(folder, sizeof folder, "/tmp/atomsan-program-XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (const char *sub = "ab"; *sub; sub++) {
		snprintf(path, sizeof path, "%s/%c", folder, *sub);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	make_program("a/both", 0700);
	make_program("b/both", 0700);
	make_program("a/late", 0600);
	make_program("b/late", 0700);
	snprintf(path, sizeof path, "%s/a/dir", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	make_program("b/dir", 0700);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"a/both", "b/both", "a/late", "b/late",
					    "b/dir",  "a/dir",  "a",      "b"};
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		remove(path);
	}
	return rmdir(folder);
}

static bool skip_first(void *arg, const char *path)
{
	int *calls = arg;

	assert_true(program_is_executable(path));
	return !(*calls)++;
}

static void expect(const char *name, const char *want, int *skip)
{
	struct str out = STR_INIT;
	char path[160];
	bool found = program_find(&out, name, skip ? skip_first : NULL, skip);

	assert_int_equal(found, want != NULL);
	if (want) {
		snprintf(path, sizeof path, "%s%s%s", *want == '/' ? "" : folder,
			 *want == '/' ? "" : "/", want);
		assert_string_equal(out.s, path);
	}
	str_free(&out);
}

static void test_path(void **state)
{
	struct str out = STR_INIT;
	char path[256];
	int calls = 0;

	(void)state;
	snprintf(path, sizeof path, "/no/such/folder:%s/a:%s/b", folder, folder);
	setenv("PATH", path, 1);
	expect("both", "a/both", NULL);
	expect("both", "b/both", &calls);
	assert_int_equal(calls, 2);
	expect("late", "b/late", NULL);
	expect("dir", "b/dir", NULL);
	expect("none", NULL, NULL);
	expect("", NULL, NULL);
	calls = 0;
	expect("late", NULL, &calls);

	/* An empty entry is the current folder. */
	setenv("PATH", "/no/such/folder::/neither", 1);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(chdir("b"), 0);
	assert_true(program_find(&out, "late", NULL, NULL));
	assert_string_equal(out.s, "./late");
	str_free(&out);
}

static void test_slash(void **state)
{
	char path[128];
	int calls = 0;

	(void)state;
	setenv("PATH", "/no/such/folder", 1);
	snprintf(path, sizeof path, "%s/a/both", folder);
	expect(path, path, NULL);
	expect(path, NULL, &calls);
	snprintf(path, sizeof path, "%s/a/late", folder);
	expect(path, NULL, NULL);
	snprintf(path, sizeof path, "%s/a", folder);
	expect(path, NULL, NULL);
	unsetenv("PATH");
	expect("sh", access("/usr/bin/sh", X_OK) ? "/bin/sh" : "/usr/bin/sh", NULL);
}

static void test_clock(void **state)
{
	uint64_t before = clock_ns(), after;

	(void)state;
	usleep(2000);
	after = clock_ns();
	assert_true(after - before >= 2000000);
	assert_true(clock_seconds() >= (double)after / 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_slash),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests_name("base_program", tests, set_up, tear_down);
}
