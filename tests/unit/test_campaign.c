/* What a campaign computes: times, words for a shell, the estimate of what is unseen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "campaign/claim.h"
#include "campaign/estimate.h"

#include "base/banned.h"

static void times(void **state)
{
	uint64_t s = 0;

	(void)state;
	assert_int_equal(campaign_seconds("90", &s), 0);
	assert_int_equal(s, 90);
	assert_int_equal(campaign_seconds("15m", &s), 0);
	assert_int_equal(s, 900);
	assert_int_equal(campaign_seconds("8h", &s), 0);
	assert_int_equal(s, 28800);
	assert_int_equal(campaign_seconds("2d", &s), 0);
	assert_int_equal(s, 172800);
	assert_int_equal(campaign_seconds("", &s), -1);
	assert_int_equal(campaign_seconds("-5", &s), -1);
	assert_int_equal(campaign_seconds("5mm", &s), -1);
	assert_int_equal(campaign_seconds("1e3", &s), -1);
	assert_int_equal(campaign_seconds("99999999999999999999", &s), -1);
	assert_int_equal(campaign_seconds("18446744073709551615d", &s), -1);
}

static void words(void **state)
{
	const char *const v[] = {"run", "./a b", "it's", "", "$x", "a=b", NULL};
	struct str s = STR_INIT;

	(void)state;
	campaign_add_words(&s, v);
	assert_string_equal(s.s, "run './a b' 'it'\\''s' '' '$x' a=b");
	str_free(&s);
}

static void task_names(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_string_equal(claim_parse_task("0000012.x.json", &n), "x.json");
	assert_int_equal(n, 12);
	assert_null(claim_parse_task("0.x", &n));
	assert_null(claim_parse_task("12", &n));
	assert_null(claim_parse_task(".12", &n));
	assert_null(claim_parse_task("-1.0", &n));
	assert_null(claim_parse_task("99999999999999999999999.0", &n));
}

static void damaged_definitions(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"tool\": \"atomsan\", \"campaign_format\": 1}",
		"{\"tool\": \"atomsan\", \"campaign_format\": 1, \"id\": \"0123456789abcdeg\"}",
		"{\"tool\": \"atomsan\", \"campaign_format\": 1, \"id\": \"0123456789abcdef\", "
		"\"folder\": \"/\", \"command\": [\"run\"]}",
		"{\"tool\": \"atomsan\", \"campaign_format\": 1, \"id\": \"0123456789abcdef\", "
		"\"folder\": \"/\", \"command\": [\"run\", 1]}",
		"{\"tool\": \"atomsan\", \"campaign_format\": 1, \"id\": \"0123456789abcdef\", "
		"\"folder\": \"/\", \"command\": [\"run\", \"x\"], \"runs\": -1}",
	};
	struct campaign c = {.path = "c"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		err.text[0] = 0;
		assert_int_equal(campaign_parse(&c, "f", texts[i], strlen(texts[i]), &err), -1);
		assert_true(strncmp(err.text, "f:", 2) == 0);
		assert_null(strchr(err.text, '\n'));
	}
}

static uint64_t random_state;

static double random_unit(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(1ull << 53);
}

/*
 * Findings that each run shows with a known chance: of many campaigns of `runs` runs, in how many
 * lies what the next run really brings within the bounds?
 */
static double coverage(const double *chance, size_t n, uint64_t runs, uint64_t campaigns)
{
	uint64_t inside = 0;

	for (uint64_t c = 0; c < campaigns; c++) {
		uint64_t found = 0, once = 0, twice = 0;
		struct estimate e;
		double unseen = 0;

		for (size_t i = 0; i < n; i++) {
			uint64_t seen = 0;

			for (uint64_t r = 0; r < runs; r++)
				seen += random_unit() < chance[i];
			found += seen != 0;
			once += seen == 1;
			twice += seen == 2;
			unseen += seen ? 0 : chance[i];
		}
		estimate_compute(&e, runs, found, once, twice);
		inside += unseen >= e.low && unseen <= e.high;
	}
	return (double)inside / (double)campaigns;
}

static void error_bars(void **state)
{
	double equal[40], falling[40];
	const double one[] = {0.01};

	(void)state;
	random_state = 88172645463325252ull;
	for (size_t i = 0; i < 40; i++) {
		equal[i] = 0.02;
		falling[i] = 0.5 / (double)((i + 1) * (i + 1));
	}
	/* 95 percent are promised; the bounds are those of a normal distribution. */
	assert_true(coverage(equal, 40, 50, 1000) > 0.93);
	assert_true(coverage(falling, 40, 100, 1000) > 0.92);
	assert_true(coverage(one, 1, 100, 1000) > 0.95);
	/* And they are not so wide that they say nothing. */
	assert_true(coverage(equal, 40, 50, 1000) < 0.999);
}

static void without_runs(void **state)
{
	struct estimate e;

	(void)state;
	estimate_compute(&e, 0, 0, 0, 0);
	assert_true(e.next == 0 && e.low == 0 && e.high == 0);
	estimate_compute(&e, 100, 4, 0, 0);
	assert_true(e.next == 0 && e.high == 0.03 && e.unseen == 0);
	estimate_compute(&e, 100, 4, 4, 0);
	assert_true(e.next == 0.04 && e.unseen > 5.9 && e.unseen < 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),        cmocka_unit_test(words),
		cmocka_unit_test(task_names),   cmocka_unit_test(damaged_definitions),
		cmocka_unit_test(without_runs), cmocka_unit_test(error_bars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
