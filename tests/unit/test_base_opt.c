/* Options: each common way to write them, and one sentence about each mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"

#include "base/banned.h"

enum { MAX_WORDS = 8 };

static struct {
	bool all;
	int verbose;
	const char *output;
	uint64_t events, inject;
} o;

/* clang-format off */
#define OPTS                                                                       \
	OPT_FLAG(0, "all", &o.all, "everything"),                                  \
	OPT_FLAG('a', "also-all", &o.all, "the same with a letter"),               \
	OPT_COUNT('v', "verbose", &o.verbose, "more"),                             \
	OPT_STR('o', "output", "FILE", &o.output, "write there"),                  \
	OPT_U64('n', "events", "N", &o.events, "how many"),                        \
	OPT_U64_OR_1(0, "inject", "K", &o.inject, "plant some")
/* clang-format on */
static const struct opt opts[] = {OPTS, OPT_END};
static const struct opt opts_stop[] = {OPTS, OPT_STOP_AT_WORD, OPT_END};

/*
 * Parses the words of a line, separated by spaces; "''" is the empty word. Stores the words that
 * are no options in `left`, joined by spaces. Returns what opt_parse() returns.
 */
static int parse(const struct opt *table, const char *line, struct str *left, struct err *err)
{
	char *copy = mem_strdup(line), *argv[MAX_WORDS + 1] = {NULL}, *rest = copy;
	int argc = 0, n;

	memset(&o, 0, sizeof o);
	*err = (struct err){0};
	str_reset(left);
	for (char *word; (word = strsep(&rest, " "));)
		if (*word)
			argv[argc++] = strcmp(word, "''") ? word : word + 2;
	n = opt_parse(table, argc, argv, err);
	/* The remaining words end with NULL, like main's argv, so that they can be given to exec.
	 */
	if (n >= 0)
		assert_null(argv[n]);
	for (int i = 0; i < n; i++)
		str_fmt(left, "%s%s", i ? " " : "", *argv[i] ? argv[i] : "''");
	/* The option's value points into argv: copy it for the test. */
	if (o.output) {
		static char kept[64];

		snprintf(kept, sizeof kept, "%s", o.output);
		o.output = kept;
	}
	mem_free(copy);
	return n;
}

static void test_good(void **state)
{
	static const struct {
		const char *line, *left;
		bool all;
		int verbose;
		const char *output;
		uint64_t events, inject;
	} rows[] = {
		{"", ""},
		{"x.std", "x.std"},
		{"a b c", "a b c"},
		{"--all", "", true},
		{"--all x", "x", true},
		{"x --all", "x", true},
		{"-v", "", false, 1},
		{"-vv --verbose", "", false, 3},
		{"-av x", "x", true, 1},
		{"--output=f x", "x", false, 0, "f"},
		{"--output f x", "x", false, 0, "f"},
		{"-o f x", "x", false, 0, "f"},
		{"-of x", "x", false, 0, "f"},
		{"-vof x", "x", false, 1, "f"},
		{"-vo f x", "x", false, 1, "f"},
		{"-ov x", "x", false, 0, "v"},
		{"--output=", "", false, 0, ""},
		{"--output=a=b", "", false, 0, "a=b"},
		{"--output --all x", "x", false, 0, "--all"},
		{"--output -- x", "x", false, 0, "--"},
		{"-o - -", "-", false, 0, "-"},
		{"--output=a --output=b", "", false, 0, "b"},
		{"--events=7", "", false, 0, NULL, 7},
		{"--events 7k x", "x", false, 0, NULL, 7000},
		{"-n2m", "", false, 0, NULL, 2000000},
		{"--inject x", "x", false, 0, NULL, 0, 1},
		{"--inject 5", "5", false, 0, NULL, 0, 1},
		{"--inject=5 x", "x", false, 0, NULL, 0, 5},
		{"--inject=0", "", false, 0, NULL, 0, 0},
		{"-", "-"},
		{"- --all -", "- -", true},
		{"--", ""},
		{"-- --all -v --", "--all -v --"},
		{"x -- --all y", "x --all y"},
		{"'' x", "'' x"},
		{"-v -- -v", "-v", false, 1},
	};
	struct str left = STR_INIT;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(parse(opts, rows[i].line, &left, &err) >= 0);
		assert_string_equal(err.text, "");
		assert_string_equal(left.s, rows[i].left);
		assert_int_equal(o.all, rows[i].all);
		assert_int_equal(o.verbose, rows[i].verbose);
		if (rows[i].output)
			assert_string_equal(o.output, rows[i].output);
		else
			assert_null(o.output);
		assert_int_equal(o.events, rows[i].events);
		assert_int_equal(o.inject, rows[i].inject);
	}
	str_free(&left);
}

static void test_bad(void **state)
{
	static const struct {
		const char *line, *sentence;
	} rows[] = {
		{"--none", "unknown option '--none'"},
		{"--none=3 x", "unknown option '--none'"},
		{"--al", "unknown option '--al'"},
		{"--alle", "unknown option '--alle'"},
		{"---all", "unknown option '---all'"},
		{"--=x", "unknown option '--'"},
		{"-x", "unknown option '-x'"},
		{"-vx", "unknown option '-x'"},
		{"-v-", "unknown option '--'"},
		{"--all=yes", "--all takes no value"},
		{"--verbose=2", "--verbose takes no value"},
		{"--output", "--output needs a value (FILE)"},
		{"x -o", "-o needs a value (FILE)"},
		{"-vn", "-n needs a value (N)"},
		{"--events=", "--events takes a number, not ''"},
		{"--events=x", "--events takes a number, not 'x'"},
		{"--events -1", "--events takes a number, not '-1'"},
		{"-n1kk", "--events takes a number, not '1kk'"},
		{"--inject=", "--inject takes a number, not ''"},
		{"--inject=many", "--inject takes a number, not 'many'"},
		{"x --none y", "unknown option '--none'"},
	};
	struct str left = STR_INIT;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(parse(opts, rows[i].line, &left, &err), -1);
		assert_string_equal(err.text, rows[i].sentence);
	}
	str_free(&left);
}

/* For commands that run a program: options after its name belong to the program. */
static void test_stop_at_word(void **state)
{
	static const struct {
		const char *line, *left;
		bool all;
	} rows[] = {
		{"--all prog --all -x --none", "prog --all -x --none", true},
		{"prog", "prog", false},
		{"--all -- prog -x", "prog -x", true},
		{"--all -- -x", "-x", true},
		{"-o f prog -- -x", "prog -- -x", false},
		{"- --all", "- --all", false},
		{"--all", "", true},
	};
	struct str left = STR_INIT;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(parse(opts_stop, rows[i].line, &left, &err) >= 0);
		assert_string_equal(left.s, rows[i].left);
		assert_int_equal(o.all, rows[i].all);
	}
	str_free(&left);
}

static void test_number(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"1k", 0, 1000},
		{"1K", 0, 1000},
		{"2m", 0, 2000000},
		{"3G", 0, 3000000000},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -1},
		{"18446744073709551k", 0, 18446744073709551000ull},
		{"18446744073709552k", -1},
		{"18446744074g", -1},
		{"", -1},
		{"k", -1},
		{"-1", -1},
		{"+1", -1},
		{" 1", -1},
		{"1 ", -1},
		{"1kk", -1},
		{"1km", -1},
		{"1kb", -1},
		{"1.5k", -1},
		{"0x10", -1},
		{"1e6", -1},
		{"\x4b", -1},
		{"1\x0b", -1}, /* 'k' without its upper bits */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t v = 0;

		assert_int_equal(opt_number(rows[i].text, &v), rows[i].rc);
		if (!rows[i].rc)
			assert_true(v == rows[i].value);
	}
}

static void test_print(void **state)
{
	static const char want[] = "      --all                    everything\n"
				   "  -a, --also-all               the same with a letter\n"
				   "  -v, --verbose                more\n"
				   "  -o, --output=FILE            write there\n"
				   "  -n, --events=N               how many\n"
				   "      --inject[=K]             plant some\n";
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	opt_print(opts_stop, f);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

/* A table inside a table: its rows are used in its place, and set fields of their own struct. */
static void test_table(void **state)
{
	struct part {
		uint64_t size;
		const char *name;
		bool deep;
	};
	static const struct opt part_opts[] = {
		OPT_U64('s', "size", "N", OPT_FIELD(struct part, size), "how large"),
		OPT_STR(0, "name", "NAME", OPT_FIELD(struct part, name), "what it is called"),
		OPT_FLAG(0, "deep", OPT_FIELD(struct part, deep), "all the way down"),
		OPT_END,
	};
	static const struct opt none[] = {OPT_END};
	static struct part left, right;
	static bool first, last;
	static const struct opt table[] = {
		OPT_FLAG(0, "first", &first, "before"),
		OPT_TABLE(part_opts, &left),
		OPT_TABLE(none, NULL),
		OPT_STOP_AT_WORD,
		OPT_FLAG('l', "last", &last, "after"),
		OPT_END,
	};
	static const struct opt other[] = {OPT_TABLE(part_opts, &right), OPT_END};
	static const struct opt *const order[] = {&table[0], &part_opts[0], &part_opts[1],
						  &part_opts[2], &table[4]};
	struct str words = STR_INIT;
	struct opt_walk w = {.next = table};
	struct opt row;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		assert_true(opt_next(&w, &row));
		assert_ptr_equal(row.name, order[i]->name);
	}
	assert_false(opt_next(&w, &row));

	assert_int_equal(parse(table, "-ls3 --deep --first --name=x prog --deep", &words, &err), 2);
	assert_string_equal(words.s, "prog --deep");
	assert_true(first && last && left.deep && left.size == 3);
	assert_non_null(left.name);
	assert_true(!right.deep && !right.size && !right.name);

	assert_int_equal(parse(other, "--size=5", &words, &err), 0);
	assert_true(right.size == 5 && left.size == 3);
	assert_int_equal(parse(other, "--first", &words, &err), -1);
	assert_string_equal(err.text, "unknown option '--first'");
	str_free(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),         cmocka_unit_test(test_bad),
		cmocka_unit_test(test_stop_at_word), cmocka_unit_test(test_number),
		cmocka_unit_test(test_print),        cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests_name("base_opt", tests, NULL, NULL);
}
