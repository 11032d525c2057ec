#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "report/suppress.h"

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool match;
	} v[] = {
		{"deposit", "deposit", true},
		{"deposit", "do_deposit(int)", true},
		{"deposit", "deposi", false},
		{"deposit", "Deposit", false},
		{"^deposit", "do_deposit", false},
		{"^deposit", "deposit_all", true},
		{"deposit$", "do_deposit", true},
		{"deposit$", "deposit_all", false},
		{"^deposit$", "deposit", true},
		{"^deposit$", "deposit2", false},
		{"a*c", "xaxxcx", true},
		{"a*c", "ca", false},
		{"^a*c$", "abcbc", true},
		{"^a*c$", "abcb", false},
		{"*a", "ba", true},
		{"ab*ab", "ab", false},
		{"ab*ab", "abab", true},
		/* These are special only at the ends. */
		{"a^b", "a^b", true},
		{"a$b", "xa$bx", true},
		{"^operator^$", "operator^", true},
		{"^f(char*)$", "f(char*)", true},
		{"^operator()$", "operator()", true},
		{"?", "x", false},
		{"[ab]", "a", false},
	};

	(void)state;
	for (size_t i = 0; i < N(v); i++)
		if (suppress_pattern(v[i].pattern, v[i].name) != v[i].match)
			fail_msg("%s and %s: not %d", v[i].pattern, v[i].name, v[i].match);
}

static void bad_files(void **state)
{
	static const struct {
		const char *text, *wrong;
	} v[] = {
		{"race:f\n", "f:1: a suppression must begin with 'atomicity:', not 'race'"},
		{"# x\n\n  deposit\n",
		 "f:3: a suppression must begin with 'atomicity:', not 'deposit'"},
		{"atomicity:\n", "f:1: the pattern is missing"},
		{"atomicity:  \n", "f:1: the pattern is missing"},
		{"atomicity:*\n", "f:1: this pattern matches everything"},
		{"atomicity:^*$\n", "f:1: this pattern matches everything"},
		{"atomicity:a\nAtomicity:b",
		 "f:2: a suppression must begin with 'atomicity:', not 'Atomicity'"},
	};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < N(v); i++) {
		err.text[0] = 0;
		assert_null(suppress_parse("f", v[i].text, strlen(v[i].text), &err));
		assert_string_equal(err.text, v[i].wrong);
	}
	err.text[0] = 0;
	assert_null(suppress_parse("f", "atomicity:a\0b", 13, &err));
	assert_string_equal(err.text, "f:1: a NUL byte");
	err.text[0] = 0;
	assert_null(suppress_read("/nowhere/at/all", &err));
	assert_true(err_is_set(&err));
}

static bool matches(const char *text, const struct finding *f)
{
	struct err err = {0};
	struct suppress *s = suppress_parse("f", text, strlen(text), &err);
	bool found;

	assert_non_null(s);
	found = suppress_matches(s, f);
	suppress_free(s);
	return found;
}

static void finding_by_all_its_names(void **state)
{
	static const char *const refuted[] = {"outer", "inner"}, *const locks[] = {
									 "mutex bank_lock"};
	static struct finding_frame frames[] = {
		{.function = "get", .file = "/src/bank.c", .module = "/opt/libbank.so.1"},
		{.function = "audit", .file = "/src/main.c", .module = "/opt/bank"}};
	static struct finding_step steps[] = {{.thread = "T1",
					       .op = "r",
					       .label = "outer",
					       .stack = {frames, 2},
					       .place = "elsewhere"},
					      {.thread = "T2", .op = "w", .place = "tail.c:3"}};
	struct finding f = {.kind = "cycle", .steps = steps, .nsteps = 2, .variable = "balance"};
	static const char *const hits[] = {"outer",  "inner",    "^bank*lock", "get",
					   "audit",  "bank.c",   "libbank.*",  "^/opt/bank$",
					   "tail.c", "^balance$"};
	static const char *const misses[] = {"elsewhere", "T1", "^bank$", "cycle"};
	char line[64];

	(void)state;
	f.blame = f.transaction = (struct finding_block){.thread = "T1", .label = "outer"};
	f.refuted = (const char **)refuted;
	f.nrefuted = 2;
	f.locks = (const char **)locks;
	f.nlocks = 1;
	for (size_t i = 0; i < N(hits); i++) {
		if (!strcmp(hits[i], "^bank*lock"))
			continue; /* the name begins with "mutex" */
		snprintf(line, sizeof line, "atomicity:%s", hits[i]);
		if (!matches(line, &f))
			fail_msg("%s does not match", line);
	}
	assert_true(matches("atomicity:mutex bank*lock$", &f));
	for (size_t i = 0; i < N(misses); i++) {
		snprintf(line, sizeof line, "atomicity:%s", misses[i]);
		if (matches(line, &f))
			fail_msg("%s matches", line);
	}
	assert_false(suppress_matches(NULL, &f));
}

static void unused_lines(void **state)
{
	static const char text[] = "# mine\natomicity: a \r\n\natomicity:b\natomicity:abc\n";
	struct finding f = {.kind = "cycle", .variable = "abc"};
	struct err err = {0};
	struct suppress *s = suppress_parse("f", text, strlen(text), &err);
	const char *line;
	size_t at = 0;

	(void)state;
	assert_non_null(s);
	assert_int_equal(suppress_unused(s, &at, &line), 2);
	assert_string_equal(line, "atomicity: a");
	/* Every line that matches counts as used, not only the first. */
	assert_true(suppress_matches(s, &f));
	at = 0;
	assert_int_equal(suppress_unused(s, &at, &line), 0);
	suppress_free(s);
}

/* The line printed with a finding suppresses it, whatever its name is. */
static void ready_lines(void **state)
{
	static const char *const names[] = {"deposit",     "ns::Stack<int*>::push(int const&)",
					    "operator^",   "a$",
					    "^a",          "two\nlines",
					    "\033[31mred", " blanks ",
					    "\xc3\xa4",    "\xe2\x80\xae!",
					    "x*y"};
	struct str line = STR_INIT;

	(void)state;
	for (size_t i = 0; i < N(names); i++) {
		struct finding f = {.kind = "cycle"};

		f.blame = f.transaction = (struct finding_block){.thread = "T1", .label = names[i]};
		str_reset(&line);
		suppress_add_line(&line, &f);
		if (!matches(line.s, &f))
			fail_msg("%s does not match", line.s);
		assert_null(strchr(line.s, '\n'));
		assert_null(strchr(line.s, '\033'));
	}
	str_free(&line);
}

static void ready_line_without_a_block(void **state)
{
	static struct finding_frame frames[] = {
		{.function = "std::atomic<int>::load",
		 .file = "/usr/include/c++/12/atomic",
		 .line = 3},
		{.function = "poll", .file = "/src/poll.c", .line = 9}};
	static struct finding_step step = {.thread = "T1", .op = "r", .stack = {frames, 2}};
	struct finding f = {.kind = "cycle", .steps = &step, .nsteps = 1}, none = {.kind = "cycle"};
	struct str line = STR_INIT;

	(void)state;
	suppress_add_line(&line, &f);
	assert_string_equal(line.s, "atomicity:^poll$");
	str_reset(&line);
	suppress_add_line(&line, &none);
	assert_string_equal(line.s, "");
	str_free(&line);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(finding_by_all_its_names),
		cmocka_unit_test(unused_lines),
		cmocka_unit_test(ready_lines),
		cmocka_unit_test(ready_line_without_a_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
