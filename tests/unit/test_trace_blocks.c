/* Which functions of a recorded run are blocks: cases by hand, and a comparison with a twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/blocks.h"
#include "trace/recorded.h"
#include "trace_fixture.h"

static void recorded_init(struct trace *t)
{
	trace_init(t);
	table_intern_any(&t->names.table[NAMES_NOTE], RECORDED_NOTE, strlen(RECORDED_NOTE));
}

static void add_begin(struct trace *t, const char *thread, const char *label)
{
	trace_add(t, trace_event(t, thread, OP_BEGIN, label, ""));
}

static void add_end(struct trace *t, const char *thread, enum end_reason why)
{
	struct event e = trace_event(t, thread, OP_END, "", "");

	e.operand = why;
	trace_add(t, e);
}

/*
 * Rules that look at the label's text, so that tests are easy to read: a PC with an
 * 'L' is in the library, one with an 'X' is excluded, one with an 'I' included by name.
 */
struct fake_rules {
	struct block_rules rules;
	unsigned asked;
};

static unsigned answer_for(const char *text, bool start)
{
	unsigned answer = BLOCK_ATOMIC;

	if (strchr(text, 'X'))
		answer = BLOCK_BY_RULE;
	else if (strchr(text, 'I'))
		answer |= BLOCK_BY_RULE;
	if (start && strchr(text, 'L'))
		answer |= BLOCK_HANDS_ON;
	return answer;
}

static unsigned fake_decide(struct block_rules *rules, const struct names *names, strref label,
			    char kind, bool start)
{
	const char *text = names->table[NAMES_STRING].text[label];

	((struct fake_rules *)rules)->asked++;
	assert_int_equal(kind, text[0]);
	assert_true(kind != 's' || start);
	return answer_for(text, start);
}

/* One letter for each event: B and E are kept, b and e are left out, '.' is any other event. */
static void letters(struct reader *r, struct str *out)
{
	struct event ev[READER_BATCH];
	struct err err = {0};
	int n;

	str_reset(out);
	while ((n = reader_next(r, ev, &err)) > 0)
		for (int i = 0; i < n; i++) {
			assert_true(!ev[i].left_out || ev[i].op == OP_NONE);
			str_addc(out, ev[i].op == OP_BEGIN          ? 'B'
				      : ev[i].op == OP_END          ? 'E'
				      : !ev[i].left_out             ? '.'
				      : ev[i].operand < END_REASONS ? 'e'
								    : 'b');
		}
	assert_string_equal(err.text, "");
}

static struct reader *open_trace(const struct trace *t, struct reader_options options)
{
	struct err err = {0};
	struct reader *r;

	trace_write(t, fixture_path("t.atrace"), TRACE_ATRACE, 0);
	options.rewindable = true;
	r = reader_open(fixture_path("t.atrace"), &options, &err);
	assert_non_null(r);
	return r;
}

static void expect(const struct trace *t, bool with_rules, const char *want)
{
	struct fake_rules rules = {.rules = {fake_decide}};
	struct reader *r = open_trace(t, (struct reader_options){0});
	struct str got = STR_INIT;
	struct err err = {0};

	if (with_rules)
		reader_set_blocks(r, &rules.rules);
	for (int pass = 0; pass < 3; pass++) {
		letters(r, &got);
		assert_string_equal(got.s, want);
		assert_int_equal(reader_rewind(r, &err), 0);
	}
	reader_close(r);
	str_free(&got);
}

/* Adds a few strings first, so that the number of a label is not a reason of an end. */
static void fill(struct trace *t)
{
	for (int i = 0; i < END_REASONS; i++) {
		char s[8];

		snprintf(s, sizeof s, "0 ?+%d", i);
		trace_string(t, s);
	}
}

static void the_default(void **state)
{
	struct trace t;

	(void)state;
	recorded_init(&t);
	fill(&t);
	add_begin(&t, "T0", "m 1+0x10");
	add_begin(&t, "T0", "f 1+0x20");
	add_begin(&t, "T0", "a mark");
	add_end(&t, "T0", END_RETURN);
	add_end(&t, "T0", END_RETURN);
	add_begin(&t, "T1", "s 1+0x30");
	add_begin(&t, "T1", "f 1+0x30"); /* it calls itself: this call is a block */
	add_end(&t, "T1", END_RETURN);
	add_end(&t, "T1", END_RETURN);
	add_end(&t, "T0", END_RETURN);
	expect(&t, false, "bBBEEbBEee");
	expect(&t, true, "bBBEEbBEee");
	trace_free(&t);
}

static void what_waits_is_left_out(void **state)
{
	struct fake_rules rules = {.rules = {fake_decide}};
	const struct block_left_out *v;
	struct str got = STR_INIT;
	struct err err = {0};
	struct reader *r;
	struct trace t;

	(void)state;
	recorded_init(&t);
	fill(&t);
	add_begin(&t, "T1", "f 1+0x10"); /* open in T1 when T2's call is cut: remains a block */
	add_begin(&t, "T2", "f 1+0x10");
	add_end(&t, "T2", END_CUT);
	add_begin(&t, "T2", "f 1+0x10");
	add_end(&t, "T2", END_CUT);
	add_end(&t, "T1", END_RETURN);
	add_begin(&t, "T1", "a mark"); /* a block each time */
	add_end(&t, "T1", END_CUT);
	add_begin(&t, "T1", "a mark");
	add_end(&t, "T1", END_RETURN);
	add_begin(&t, "T2", "f 1+0x10I"); /* by a rule, a block each time */
	add_end(&t, "T2", END_CUT);
	add_begin(&t, "T2", "f 1+0x10I");
	add_end(&t, "T2", END_NOT_ATOMIC); /* the source overrides the rule */
	add_begin(&t, "T2", "f 1+0x10I");
	add_end(&t, "T2", END_NOT_ATOMIC);
	add_begin(&t, "T2", "m 1+0x40I"); /* main, by a rule */
	add_end(&t, "T2", END_CUT);
	add_begin(&t, "T2", "f 1+0x50X");
	add_end(&t, "T2", END_CUT);
	add_begin(&t, "T2", "s 1+0x60");
	add_end(&t, "T2", END_CUT);
	expect(&t, true, "BBEbeEBEBEBEBEbeBEbebe");

	r = open_trace(&t, (struct reader_options){0});
	reader_set_blocks(r, &rules.rules);
	assert_int_equal(reader_left_out(r, &v), 0);
	letters(r, &got);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(reader_left_out(r, &v), 3);
		assert_string_equal(reader_names(r)->table[NAMES_STRING].text[v[0].label],
				    "f 1+0x10");
		assert_int_equal(v[0].reason, BLOCK_WAITS);
		assert_int_equal(v[0].times, 2);
		assert_int_equal(v[1].reason, BLOCK_SAID_NOT);
		assert_int_equal(v[1].times, 2);
		assert_int_equal(v[2].reason, BLOCK_IS_START);
		assert_int_equal(v[2].times, 1);
		assert_int_equal(reader_blocks_cut(r), 4);
		/* A pass that has just begun keeps the list. */
		assert_int_equal(reader_rewind(r, &err), 0);
	}
	assert_true(rules.asked <= 8); /* once for each label */
	reader_close(r);
	str_free(&got);
	trace_free(&t);
}

static void labels_of_one_function(void **state)
{
	struct trace t;

	(void)state;
	recorded_init(&t);
	fill(&t);
	add_begin(&t, "T1", "s 1+0x10");
	add_end(&t, "T1", END_CUT);
	add_begin(&t, "T2", "f 1+0x10");
	add_end(&t, "T2", END_RETURN);
	add_begin(&t, "T2", "f 1+0x1"); /* another function */
	add_end(&t, "T2", END_RETURN);
	add_begin(&t, "T2", "a 1+0x10"); /* not a function */
	add_end(&t, "T2", END_RETURN);
	expect(&t, false, "bebeBEBE");
	trace_free(&t);
}

static void thread_starts_hand_on(void **state)
{
	struct trace t;
	const struct block_left_out *v;
	struct fake_rules rules = {.rules = {fake_decide}};
	struct str got = STR_INIT;
	struct reader *r;

	(void)state;
	recorded_init(&t);
	fill(&t);
	add_begin(&t, "T1", "s 1+0x1L");
	add_begin(&t, "T1", "f 1+0x2L");
	add_begin(&t, "T1", "f 1+0x5"); /* copies an argument */
	add_end(&t, "T1", END_RETURN);
	add_begin(&t, "T1", "f 1+0x3L");
	add_begin(&t, "T1", "f 1+0x4"); /* the user's function */
	add_begin(&t, "T1", "f 1+0x5"); /* called by it */
	add_begin(&t, "T1", "f 1+0x3L");
	add_begin(&t, "T1", "f 1+0x4");
	for (int i = 0; i < 3; i++)
		add_end(&t, "T1", END_RETURN);
	for (int i = 0; i < 4; i++)
		add_end(&t, "T1", END_CUT);
	add_begin(&t, "T1", "f 1+0x2L"); /* the start function continues after it waited */
	add_end(&t, "T1", END_RETURN);
	add_begin(&t, "T1", "f 1+0x4");
	add_end(&t, "T1", END_RETURN);
	expect(&t, true, "bbbebbBBBEEEeeeeBEbe");
	expect(&t, false, "bBBEBBBBBEEEEEEebebe");

	r = open_trace(&t, (struct reader_options){0});
	reader_set_blocks(r, &rules.rules);
	letters(r, &got);
	assert_int_equal(reader_left_out(r, &v), 2);
	assert_int_equal(v[0].reason, BLOCK_IS_START);
	assert_int_equal(v[1].reason, BLOCK_IS_START);
	reader_close(r);
	str_free(&got);
	trace_free(&t);
}

static void others_pass(void **state)
{
	struct reader_options all = {.all_blocks = true};
	struct str got = STR_INIT;
	struct reader *r;
	struct trace t;

	(void)state;
	trace_init(&t); /* without the note it is not a recorded run */
	fill(&t);
	add_begin(&t, "T0", "m 1+0x10");
	add_end(&t, "T0", END_RETURN);
	expect(&t, true, "BE");
	table_intern_any(&t.names.table[NAMES_NOTE], RECORDED_NOTE, strlen(RECORDED_NOTE));
	expect(&t, true, "be");
	r = open_trace(&t, all);
	letters(r, &got);
	assert_string_equal(got.s, "BE");
	reader_close(r);
	trace_free(&t);

	recorded_init(&t); /* labels that no recorder writes */
	fill(&t);
	add_begin(&t, "T0", "");
	add_begin(&t, "T0", "17");
	add_begin(&t, "T0", "fx");
	add_end(&t, "T0", END_NOT_ATOMIC);
	add_begin(&t, "T0", "main");
	add_end(&t, "T0", END_CUT);
	add_begin(&t, "T0", "main");
	expect(&t, true, "BBBEBEB");
	expect(&t, false, "BBBEBEB");
	trace_free(&t);
	str_free(&got);
}

static void ends_without_begin(void **state)
{
	struct reader_options lenient = {.lenient = true};
	struct err err = {0};
	struct str got = STR_INIT;
	struct reader *r;
	struct trace t;

	(void)state;
	recorded_init(&t);
	fill(&t);
	add_begin(&t, "T0", "m 1+0x10");
	add_end(&t, "T0", END_RETURN);
	add_end(&t, "T0", END_CUT);
	add_begin(&t, "T0", "f 1+0x20");
	trace_write(&t, fixture_path("t.atrace"), TRACE_ATRACE, 0);
	assert_int_equal(read_all(fixture_path("t.atrace"), (struct reader_options){0}, &got, &err),
			 2);
	assert_non_null(strstr(err.text, "event 3: T0 ends a block that it has not begun"));
	r = open_trace(&t, lenient);
	letters(r, &got);
	assert_string_equal(got.s, "be.B");
	assert_int_equal(reader_counts(r)->skipped, 1);
	reader_close(r);
	str_free(&got);
	trace_free(&t);
}

static void deep_and_wide(void **state)
{
	enum { DEPTH = 100000, THREADS = 500 };
	struct str got = STR_INIT;
	struct trace t;
	struct reader *r;

	(void)state;
	recorded_init(&t);
	fill(&t);
	add_begin(&t, "T0", "m 1+0x1");
	for (int i = 0; i < DEPTH; i++)
		add_begin(&t, "T0", i % 2 ? "f 1+0x10" : "f 1+0x20");
	for (int i = 0; i < THREADS; i++) {
		char name[16];

		snprintf(name, sizeof name, "T%d", i + 1);
		add_begin(&t, name, "s 1+0x30");
		add_begin(&t, name, "f 1+0x10");
	}
	for (int i = 0; i < DEPTH; i++)
		add_end(&t, "T0", END_CUT);
	add_end(&t, "T0", END_CUT);
	add_begin(&t, "T7", "f 1+0x10");
	r = open_trace(&t, (struct reader_options){0});
	letters(r, &got);
	assert_int_equal(got.n, t.n);
	assert_int_equal(got.s[0], 'b');
	assert_int_equal(got.s[DEPTH], 'B');
	for (int i = 0; i < THREADS; i++)
		assert_memory_equal(got.s + 1 + DEPTH + 2 * i, "bB", 2);
	assert_memory_equal(got.s + got.n - 3, "Eeb", 3);
	assert_int_equal(reader_counts(r)->blocks, DEPTH + THREADS);
	assert_int_equal(reader_counts(r)->transactions, 1 + THREADS);
	reader_close(r);
	str_free(&got);
	trace_free(&t);
}

/*
 * The twin: for each event it looks at all earlier events, and keeps no state.
 * `text` of a begin is its label.
 */
static const char *label_at(const struct trace *t, size_t i)
{
	return t->names.table[NAMES_STRING].text[t->ev[i].operand];
}

/* Returns the begin of the thread's innermost block open before event i, or SIZE_MAX. */
static size_t open_before(const struct trace *t, size_t i)
{
	size_t closed = 0;

	for (size_t k = i; k-- > 0;) {
		if (t->ev[k].thread != t->ev[i].thread)
			continue;
		if (t->ev[k].op == OP_END)
			closed++;
		else if (t->ev[k].op == OP_BEGIN && !closed--)
			return k;
	}
	return SIZE_MAX;
}

static bool twin_start(const struct trace *t, size_t i)
{
	size_t by;

	if (label_at(t, i)[0] != 'f')
		return label_at(t, i)[0] == 's';
	by = open_before(t, i);
	return by != SIZE_MAX && strchr("fs", label_at(t, by)[0]) && strchr(label_at(t, by), 'L') &&
	       twin_start(t, by);
}

/* Returns whether the function of begin i ended before event i for the reason `why` or a higher
 * one. */
static bool twin_ended(const struct trace *t, size_t i, enum end_reason why)
{
	for (size_t k = 0; k < i; k++) {
		size_t b;

		if (t->ev[k].op != OP_END || t->ev[k].operand < why)
			continue;
		b = open_before(t, k);
		if (b != SIZE_MAX && label_at(t, b)[0] != 'a' &&
		    !strcmp(label_at(t, b) + 2, label_at(t, i) + 2) &&
		    !(twin_start(t, b) && strchr(label_at(t, b), 'L')))
			return true;
	}
	return false;
}

static bool twin_kept(const struct trace *t, size_t i)
{
	const char *text = label_at(t, i);

	if (strchr(text, 'X'))
		return false;
	if (text[0] == 'a')
		return true;
	if (strchr(text, 'I'))
		return !twin_ended(t, i, END_NOT_ATOMIC);
	return text[0] != 'm' && !twin_start(t, i) && !twin_ended(t, i, END_CUT);
}

static void against_the_twin(void **state)
{
	static const char *const labels[] = {
		"f 1+0x1",  "f 1+0x2",  "f 1+0x3L", "f 1+0x4L", "f 1+0x5X", "f 1+0x6I", "s 1+0x1",
		"s 1+0x3L", "s 1+0x4L", "m 1+0x2",  "m 1+0x6I", "a 1+0x1",  "a mX",     "s 1+0x6I",
	};
	struct str want = STR_INIT;

	(void)state;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct rng rng = {seed};
		uint32_t depth[3] = {0}, n = 1 + rng_below(&rng, 60);
		struct trace t;

		recorded_init(&t);
		fill(&t);
		str_reset(&want);
		for (uint32_t i = 0; i < n; i++) {
			static const char *const threads[] = {"T0", "T1", "T2"};
			uint32_t k = rng_below(&rng, 3);

			if (depth[k] && rng_below(&rng, 5) < 2) {
				uint32_t why = rng_below(&rng, 8);

				depth[k]--;
				add_end(&t, threads[k],
					why < 2    ? END_CUT
					: why == 2 ? END_NOT_ATOMIC
						   : END_RETURN);
			} else {
				depth[k]++;
				add_begin(&t, threads[k], labels[rng_below(&rng, N(labels))]);
			}
		}
		for (size_t i = 0; i < t.n; i++) {
			bool is_begin = t.ev[i].op == OP_BEGIN;
			bool kept = twin_kept(&t, is_begin ? i : open_before(&t, i));

			str_addc(&want, is_begin ? (kept ? 'B' : 'b') : (kept ? 'E' : 'e'));
		}
		expect(&t, true, want.s);
		trace_free(&t);
	}
	str_free(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default),
		cmocka_unit_test(what_waits_is_left_out),
		cmocka_unit_test(labels_of_one_function),
		cmocka_unit_test(thread_starts_hand_on),
		cmocka_unit_test(others_pass),
		cmocka_unit_test(ends_without_begin),
		cmocka_unit_test(deep_and_wide),
		cmocka_unit_test(against_the_twin),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
