/* Maps with keys of one number and of two: extreme keys, many keys, values that are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/mem.h"

#include "base/banned.h"

static void test_empty(void **state)
{
	struct map m = {0};
	struct map_entry e;
	size_t at = 0;

	(void)state;
	assert_true(map_get(&m, 0) == MAP_NONE);
	assert_true(map_get2(&m, 1, 2) == MAP_NONE);
	assert_false(map_next(&m, &at, &e));
	map_free(&m);
}

static void test_extremes(void **state)
{
	static const uint64_t keys[] = {0, 1, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX};
	enum { N = sizeof keys / sizeof *keys };
	struct map m = {0};

	(void)state;
	for (uint32_t i = 0; i < N * N; i++)
		map_set2(&m, keys[i / N], keys[i % N], i);
	map_set2(&m, 7, 7, MAP_NONE - 1);
	for (uint32_t i = 0; i < N * N; i++)
		assert_int_equal(map_get2(&m, keys[i / N], keys[i % N]), i);
	assert_true(map_get2(&m, 7, 7) == MAP_NONE - 1);
	assert_true(map_get2(&m, 7, 8) == MAP_NONE);
	assert_int_equal(m.n, N * N + 1);
	map_free(&m);
	assert_true(map_get2(&m, 7, 7) == MAP_NONE);

	/* After map_free() the map may have keys of the other kind. */
	for (uint32_t i = 0; i < N; i++)
		map_set(&m, keys[i], i);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(map_get(&m, keys[i]), i);
	map_free(&m);
}

/* Sets every third key of a regular pattern twice, and checks all lookups and the iteration. */
static void check_many(bool pairs)
{
	enum { N = 30000 };
	struct map m = {0};
	struct map_entry e;
	uint8_t *seen = mem_zalloc(N);
	size_t at = 0, n = 0;

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < N; i += 3)
			if (pairs)
				map_set2(&m, (uint64_t)i << 12, i % 2, i + round);
			else
				map_set(&m, (uint64_t)i << 12, i + round);
	assert_int_equal(m.n, N / 3);
	assert_true(2 * m.n <= m.mask + 1);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t want = i % 3 ? MAP_NONE : i + 1;

		if (pairs) {
			assert_true(map_get2(&m, (uint64_t)i << 12, i % 2) == want);
			assert_true(map_get2(&m, (uint64_t)i << 12, !(i % 2)) == MAP_NONE);
		} else {
			assert_true(map_get(&m, (uint64_t)i << 12) == want);
		}
	}
	for (; map_next(&m, &at, &e); n++) {
		uint64_t i = e.a >> 12;

		assert_true(i < N && e.b == (pairs ? i % 2 : 0) && !seen[i]);
		assert_true(e.value == i + 1);
		seen[i] = 1;
	}
	assert_int_equal(n, m.n);
	mem_free(seen);
	map_free(&m);
}

static void test_many(void **state)
{
	(void)state;
	check_many(false);
	check_many(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("base_map", tests, NULL, NULL);
}
