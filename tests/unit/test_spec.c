#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "spec/pattern.h"
#include "spec/spec.h"
#include "trace/names.h"

static void matching(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} v[] = {
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"abc", "abc", true},
		{"abc", "abcd", false},
		{"abc", "xabc", false},
		{"*", "", true},
		{"*", "a/b c", true},
		{"a*", "a", true},
		{"*a", "bab", false},
		{"*ab*ab", "abab", true},
		{"*ab*ab", "abxab", true},
		{"*ab*ab", "ab", false},
		{"a*b*c", "a-b-c-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"**", "x", true},
		{"?", "", false},
		{"?", "x", true},
		{"??", "x", false},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[^a-c]x", "ax", false},
		{"[]x]", "]", true},
		{"[!]x]", "]", false},
		{"[a-]", "-", true},
		{"[\\]]", "]", true},
		{"[a\\-c]", "b", false},
		{"[\xc3-\xc5]", "\xc4", true},
		{"\\*", "*", true},
		{"\\*", "x", false},
		{"operator\\[]", "operator[]", true},
		{"f(char\\*)", "f(char*)", true},
		{"f(char\\*)", "f(charm)", false},
		{"a\\\\b", "a\\b", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		assert_null(pattern_error(v[i].pattern));
		if (pattern_match(v[i].pattern, v[i].text) != v[i].match)
			fail_msg("'%s' against '%s'", v[i].pattern, v[i].text);
	}
}

/* The definition: a star matches nothing, or one character and then a star. */
static bool naive(const char *p, const char *t)
{
	if (!*p)
		return !*t;
	if (*p == '*')
		return naive(p + 1, t) || (*t && naive(p, t + 1));
	if (*p == '\\')
		return *t == p[1] && naive(p + 2, t + 1);
	return *t && (*p == '?' || *p == *t) && naive(p + 1, t + 1);
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

static void matching_by_chance(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		char p[24], t[10];
		uint32_t n = 0, m = below(&seed, 8);

		for (uint32_t k = below(&seed, 8); k-- > 0;) {
			char c = "ab*?\\"[below(&seed, 5)];

			p[n++] = c;
			if (c == '\\')
				p[n++] = "ab*?\\"[below(&seed, 5)];
		}
		p[n] = 0;
		for (uint32_t k = 0; k < m; k++)
			t[k] = "ab*?\\"[below(&seed, 5)];
		t[m] = 0;
		assert_null(pattern_error(p));
		if (pattern_match(p, t) != naive(p, t))
			fail_msg("'%s' against '%s'", p, t);
	}
}

static void many_stars_are_quick(void **state)
{
	char p[401] = "", t[5001] = "";

	(void)state;
	for (int i = 0; i < 200; i++)
		memcpy(p + 2 * i, "*a", 2);
	p[399] = 'b';
	memset(t, 'a', 5000);
	assert_false(pattern_match(p, t)); /* otherwise the test takes too long */
}

static void splitting(void **state)
{
	static const struct {
		const char *text, *name;
	} v[] = {
		{"main", "main"},
		{"f(int)", "f"},
		{"f()", "f"},
		{"A::f(int) const", "A::f"},
		{"A::f() const &", "A::f"},
		{"int apply<int>(int)", "apply<int>"},
		{"std::pair<int, int> make<int>(void (*)(int), int)", "make<int>"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"void (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<int>"},
		{"A::operator()(int) const", "A::operator()"},
		{"A::operator()", "A::operator()"},
		{"A::operator bool() const", "A::operator bool"},
		{"A::operator<(A const&) const", "A::operator<"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>"},
		{"my_operator(int)", "my_operator"},
		{"f()::{lambda(int)#1}::operator()(int) const", "f()::{lambda(int)#1}::operator()"},
		{"f(int) [clone .part.0]", "f"},
		{"non-virtual thunk to A::f()", "A::f"},
		{")", ")"},
		{"", ""},
		{"((", "(("},
		{"a b", "b"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		size_t name, params;
		char *got;

		pattern_split_function(v[i].text, &name, &params);
		assert_true(name <= params && params <= strlen(v[i].text));
		got = mem_strndup(v[i].text + name, params - name);
		assert_string_equal(got, v[i].name);
		mem_free(got);
	}
}

static void library_names(void **state)
{
	static const char *const in[] = {
		"_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv",
		"_ZSt8__invokeIPFvvEJEENSt15__invoke_resultIT_JDpT0_EE4typeEOS4_DpOS5_",
		"_ZNKSt8functionIFvvEEclEv",
		"_ZNSt3__114__thread_proxyB8ne180100INS_5tupleIJEEEEEPvS3_",
		"_ZN9__gnu_cxx12__ops_helperEv",
		"_ZL14__gthread_oncePiPFvvE",
		"_ZZNSt13__future_base17_Async_state_implIvvEC1EvENKUlvE_clEv",
	};
	static const char *const out[] = {
		"main", "_Z6workerv", "_ZN3app3StEv", "_ZN4Stop3runEv",          "St6thread",
		"",     "_Z",         "_ZN",          "_ZZN3app1fEvENKUlvE_clEv"};

	(void)state;
	for (size_t i = 0; i < sizeof in / sizeof *in; i++)
		assert_true(pattern_is_library(in[i]));
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		assert_false(pattern_is_library(out[i]));
}

/* A resolver that knows a few functions: label i is functions[i]. */
static const struct names_frame functions[] = {
	{NULL},
	{.function = "main", .linkage = "main", .file = "/src/app/main.c", .module = "/bin/app"},
	{.function = "app::push(int)",
	 .linkage = "_ZN3app4pushEi",
	 .file = "/src/app/stack.cc",
	 .module = "/bin/app"},
	{.function = "int app::top<int>(int const&)",
	 .linkage = "_ZN3app3topIiEEiRKi",
	 .file = "/src/app/stack.cc",
	 .module = "/usr/lib/libapp.so.1"},
	{.function = "std::thread::_State::run()", .linkage = "_ZNSt6thread6_State3runEv"},
	{.linkage = "bare"},
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

struct fake {
	struct names_resolver resolver;
	unsigned asks;
};

static const struct names_frame *fake_function(struct names_resolver *r, const struct names *names,
					       strref label)
{
	(void)names;
	((struct fake *)r)->asks++;
	return label && label < NFUNCTIONS ? &functions[label] : NULL;
}

static unsigned ask(const char *rules, strref label, char kind, bool start)
{
	struct fake fake = {.resolver = {.function = fake_function}};
	struct names names;
	struct err err = {0};
	struct spec *s = spec_parse("s", rules, strlen(rules), &err);
	unsigned answer;

	assert_string_equal(err.text, "");
	names_init(&names);
	names.resolver = &fake.resolver;
	/* Labels from 1 on are the functions, the last one is a marked block. */
	for (size_t i = 1; i < NFUNCTIONS; i++)
		table_intern_any(&names.table[NAMES_STRING], functions[i].linkage,
				 strlen(functions[i].linkage));
	table_intern_any(&names.table[NAMES_STRING], "a pop one", 9);
	answer = spec_rules(s)->decide(spec_rules(s), &names, label, kind, start);
	names_free(&names);
	spec_free(s);
	return answer;
}

static void deciding(void **state)
{
	enum { MAIN = 1, PUSH, TOP, RUN, BARE, MARKED };
	enum { YES = BLOCK_ATOMIC, NO = BLOCK_BY_RULE, FORCED = BLOCK_ATOMIC | BLOCK_BY_RULE };
	static const struct {
		const char *rules;
		strref label;
		unsigned answer;
	} v[] = {
		{"", PUSH, YES},
		{"# exclude function *\n\n  \t# no rule\n", PUSH, YES},
		{"exclude function *", PUSH, NO},
		{"exclude function app::push", PUSH, NO},
		{"exclude function app::push(int)", PUSH, NO},
		{"exclude function app::push(long)", PUSH, YES},
		{"exclude function _ZN3app4pushEi", PUSH, NO},
		{"exclude function push", PUSH, YES},
		{"exclude function *::push", PUSH, NO},
		{"exclude function app::top<int>", TOP, NO},
		{"exclude function app::top<int>(int const&)", TOP, NO},
		{"exclude function int app::top<int>", TOP, NO},
		{"exclude function int app::top<int>(int const&)", TOP, NO},
		{"exclude function bare", BARE, NO},
		{"exclude file *", BARE, YES},
		{"exclude module *", BARE, YES},
		{"exclude file stack.cc", PUSH, NO},
		{"exclude file app/stack.cc", PUSH, NO},
		{"exclude file /src/app/stack.cc", PUSH, NO},
		{"exclude file tack.cc", PUSH, YES},
		{"exclude file app", PUSH, YES},
		{"exclude file app/*", PUSH, NO},
		{"exclude module app", PUSH, NO},
		{"exclude module libapp.so*", TOP, NO},
		{"exclude module libapp.so*", PUSH, YES},
		{"exclude label *", PUSH, YES},
		/* The last rule wins; an include with wildcards only takes an exclude back. */
		{"exclude function *\ninclude file stack.cc", PUSH, YES},
		{"include file stack.cc\nexclude function *", PUSH, NO},
		{"include function app::*", PUSH, YES},
		{"include function app::push", PUSH, FORCED},
		{"include function main", MAIN, FORCED},
		{"include function m*", MAIN, YES},
		{"include function main\nexclude module app", MAIN, NO},
		{"include function main\ninclude module app", MAIN, YES},
		/* Only label rules apply to marked blocks. */
		{"exclude function *\nexclude file *\nexclude module *", MARKED, YES},
		{"exclude label pop one", MARKED, NO},
		{"exclude label pop*", MARKED, NO},
		{"exclude label *\ninclude label pop ???", MARKED, YES},
		{"\r\nexclude\tlabel   pop one  \r\n", MARKED, NO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		unsigned got = ask(v[i].rules, v[i].label,
				   v[i].label == MARKED ? 'a'
				   : v[i].label == MAIN ? 'm'
							: 'f',
				   false);

		if (got != v[i].answer)
			fail_msg("'%s' of %u: %u, not %u", v[i].rules, v[i].label, got,
				 v[i].answer);
	}
	assert_int_equal(ask("", RUN, 's', true), BLOCK_ATOMIC | BLOCK_HANDS_ON);
	assert_int_equal(ask("", RUN, 'f', false), BLOCK_ATOMIC);
	assert_int_equal(ask("", PUSH, 'f', true), BLOCK_ATOMIC);
	assert_int_equal(ask("exclude function std::*", RUN, 's', true), NO | BLOCK_HANDS_ON);
	/* A name with wildcards includes start functions; wildcards alone do not. */
	assert_int_equal(ask("include function app::*", PUSH, 's', true), FORCED);
	assert_int_equal(ask("include function *", PUSH, 's', true), YES);
	assert_int_equal(ask("include file stack.cc", PUSH, 's', true), YES);
}

static bool excludes(const char *rules, const char *kind, const char *function)
{
	struct err err = {0};
	struct spec *s = spec_parse("s", rules, strlen(rules), &err);
	bool answer = spec_rules(s)->excludes_region(spec_rules(s), kind, function);

	spec_free(s);
	return answer;
}

static void regions_are_excluded(void **state)
{
	(void)state;
	assert_false(excludes("", "pair", "worker"));
	assert_true(excludes("exclude region pair worker", "pair", "worker"));
	assert_false(excludes("exclude region pair worker", "round", "worker"));
	assert_false(excludes("exclude region pair worker", "pair", "main"));
	assert_true(excludes("exclude region * work*", "round", "worker"));
	assert_false(excludes("exclude region *\ninclude region * main", "pair", "main"));
	assert_true(excludes("exclude region pair *", "pair", NULL));
	assert_false(excludes("exclude function worker", "pair", "worker"));
}

/* Names that no rule needs are not looked up. */
static void names_are_asked_for_on_need(void **state)
{
	struct fake fake = {.resolver = {.function = fake_function}};
	struct names names;
	struct err err = {0};
	struct spec *s = spec_parse("s", "exclude label x", 15, &err);
	struct block_rules *rules = spec_rules(s);

	(void)state;
	names_init(&names);
	assert_int_equal(rules->decide(rules, &names, 1, 'f', true), BLOCK_ATOMIC);
	names.resolver = &fake.resolver;
	assert_int_equal(rules->decide(rules, &names, 1, 'f', false), BLOCK_ATOMIC);
	assert_int_equal(fake.asks, 0);
	assert_int_equal(rules->decide(rules, &names, 4, 's', true), BLOCK_ATOMIC | BLOCK_HANDS_ON);
	assert_int_equal(fake.asks, 1);
	names_free(&names);
	spec_free(s);
}

static void bad_lines(void **state)
{
	static const struct {
		const char *text, *err;
	} v[] = {
		{"atomic function f",
		 "s:1: a rule begins with 'include' or 'exclude', not 'atomic'"},
		{"\n# x\nincludes file f",
		 "s:3: a rule begins with 'include' or 'exclude', not 'includes'"},
		{"include",
		 "s:1: include what? 'function', 'file', 'module', 'label' or 'region' comes next"},
		{"exclude functions f",
		 "s:1: exclude what? 'function', 'file', 'module', 'label' or 'region' comes "
		 "next, not 'functions'"},
		{"include function", "s:1: which function? the pattern is missing"},
		{"include file  \t\r\n", "s:1: which file? the pattern is missing"},
		{"include label x\\", "s:1: the pattern ends in a '\\'"},
		{"include function operator[]",
		 "s:1: a '[' without its ']' (write '\\[' for the character)"},
		{"\x1b[31m", "s:1: a rule begins with 'include' or 'exclude', not '\\x1b[31m'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		struct err err = {0};

		assert_null(spec_parse("s", v[i].text, strlen(v[i].text), &err));
		assert_string_equal(err.text, v[i].err);
	}
	for (int i = 0; i < 2; i++) {
		struct err err = {0};

		assert_null(spec_parse("s", "include label a\0b", 17, &err));
		assert_string_equal(err.text, "s:1: a NUL byte");
	}
}

/* Any bytes are a specification, or give a sentence that says where the error is. */
static void any_text(void **state)
{
	static const char *const pieces[] = {
		"include", "exclude", "function", "label", "file", " ", " ", "\t", "\n",  "\r",
		"#",       "[",       "]",        "\\",    "*",    "-", "!", "x",  "\xff"};
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct str text = STR_INIT;
		struct err err = {0};
		struct spec *s;

		for (uint32_t k = below(&seed, 12); k-- > 0;)
			str_add(&text, pieces[below(&seed, sizeof pieces / sizeof *pieces)]);
		s = spec_parse("s", text.s, text.n, &err);
		assert_int_equal(s == NULL, err_is_set(&err));
		if (s) {
			struct names names;

			names_init(&names);
			table_intern_any(&names.table[NAMES_STRING], "a x-]", 5);
			spec_rules(s)->decide(spec_rules(s), &names, 1, 'a', false);
			names_free(&names);
		} else {
			assert_memory_equal(err.text, "s:", 2);
			assert_null(strchr(err.text, '\n'));
		}
		spec_free(s);
		str_free(&text);
	}
}

static void unused_rules(void **state)
{
	static const char text[] = "exclude label pop*\n\n  include label no one  \nexclude file x";
	struct names names;
	struct err err = {0};
	struct spec *s = spec_parse("s", text, strlen(text), &err);
	const char *rule;
	size_t at = 0;

	(void)state;
	names_init(&names);
	table_intern_any(&names.table[NAMES_STRING], "a pop", 5);
	assert_int_equal(spec_rules(s)->decide(spec_rules(s), &names, 1, 'a', false),
			 BLOCK_BY_RULE);
	assert_int_equal(spec_unused(s, &at, &rule), 3);
	assert_string_equal(rule, "include label no one");
	assert_int_equal(spec_unused(s, &at, &rule), 4);
	assert_string_equal(rule, "exclude file x");
	assert_int_equal(spec_unused(s, &at, &rule), 0);
	assert_int_equal(spec_unused(s, &at, &rule), 0);
	names_free(&names);
	spec_free(s);
}

/* A rule that is written for a name matches that name when it is read again, and no other. */
static void write_and_read(void **state)
{
	static const char *const v[] = {
		"f",
		"std::map<int, long>::find(int const&)",
		"operator[](char*, int (*)[3])",
		"a\\b",
		"what? [x]*",
		" blanks ",
		" ",
		"two\nlines",
		"#hash",
		"caf\xc3\xa9",
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		struct str text = STR_INIT, label = STR_INIT;
		struct err err = {0};
		struct names names;
		struct spec *s;
		struct block_rules *rules;

		spec_add_comment(&text, "why\n\nit is out");
		spec_add_rule(&text, false, SPEC_LABEL, v[i]);
		s = spec_parse("s", text.s, text.n, &err);
		assert_string_equal(err.text, "");
		rules = spec_rules(s);
		names_init(&names);
		str_fmt(&label, "a %s", v[i]);
		table_intern_any(&names.table[NAMES_STRING], label.s, label.n);
		str_addc(&label, 'x');
		table_intern_any(&names.table[NAMES_STRING], label.s, label.n);
		assert_int_equal(rules->decide(rules, &names, 1, 'a', false), BLOCK_BY_RULE);
		assert_int_equal(rules->decide(rules, &names, 2, 'a', false), BLOCK_ATOMIC);
		names_free(&names);
		spec_free(s);
		str_free(&text);
		str_free(&label);
	}
}

static void written_lines(void **state)
{
	struct str text = STR_INIT;

	(void)state;
	spec_add_comment(&text, "blamed 3 times\n\nlast in run 2\n");
	spec_add_rule(&text, false, SPEC_FUNCTION, "f(char*)");
	spec_add_rule(&text, true, SPEC_FILE, "a b.c");
	assert_string_equal(text.s, "# blamed 3 times\n#\n# last in run 2\n"
				    "exclude function f(char\\*)\ninclude file a b.c\n");
	str_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(matching_by_chance),
		cmocka_unit_test(many_stars_are_quick),
		cmocka_unit_test(splitting),
		cmocka_unit_test(library_names),
		cmocka_unit_test(deciding),
		cmocka_unit_test(regions_are_excluded),
		cmocka_unit_test(names_are_asked_for_on_need),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(any_text),
		cmocka_unit_test(unused_rules),
		cmocka_unit_test(write_and_read),
		cmocka_unit_test(written_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
