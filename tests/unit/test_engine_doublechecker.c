/*
 * The parts of doublechecker: the states of a piece of memory, the imprecise
 * graph, the file of suspects.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/doublechecker/icd.h"
#include "engine/doublechecker/idg.h"
#include "engine/doublechecker/suspects.h"
#include "trace/event.h"

#include "base/banned.h"

static void check_move(icd_state from, uint32_t thread, bool write, enum icd_change change,
		       icd_state to)
{
	uint32_t count = 6;
	struct icd_move m;

	assert_false(icd_quiet(from, thread, 5, write));
	m = icd_move(from, thread, write, &count);
	assert_int_equal(m.change, change);
	assert_int_equal(m.state, to);
	assert_int_equal(count, change == ICD_SHARE ? 7 : 6);
	/* The same access again changes nothing: the thread has seen the count. */
	assert_true(icd_quiet(m.state, thread, count, write));
}

static void states_follow_the_table(void **state)
{
	enum { ME = 3, OTHER = 4 };
	icd_state none = 0, mine = icd_pack(ICD_WREX, ME), read_by_me = icd_pack(ICD_RDEX, ME);
	icd_state others = icd_pack(ICD_WREX, OTHER), read_by_other = icd_pack(ICD_RDEX, OTHER);
	icd_state shared = icd_pack(ICD_RDSH, 6);

	(void)state;
	check_move(none, ME, false, ICD_FIRST, read_by_me);
	check_move(none, ME, true, ICD_FIRST, mine);
	assert_true(icd_quiet(mine, ME, 0, true));
	assert_true(icd_quiet(mine, ME, 0, false));
	assert_true(icd_quiet(read_by_me, ME, 0, false));
	check_move(read_by_me, ME, true, ICD_UPGRADE, mine);
	check_move(others, ME, true, ICD_CONFLICT, mine);
	check_move(others, ME, false, ICD_CONFLICT, read_by_me);
	check_move(read_by_other, ME, true, ICD_CONFLICT, mine);
	check_move(read_by_other, ME, false, ICD_SHARE, icd_pack(ICD_RDSH, 7));
	check_move(shared, ME, false, ICD_FENCE, shared);
	check_move(shared, ME, true, ICD_CONFLICT_ALL, mine);
	assert_true(icd_quiet(shared, ME, 6, false));
}

/* At its maximum the count no longer grows, and no thread counts as having seen it. */
static void count_stands_still_at_its_end(void **state)
{
	uint32_t count = ICD_MAX - 1;
	struct icd_move m = icd_move(icd_pack(ICD_RDEX, 1), 2, false, &count);

	(void)state;
	assert_int_equal(count, ICD_MAX);
	assert_int_equal(icd_value(m.state), ICD_MAX);
	assert_false(icd_quiet(m.state, 2, count, false));
	icd_move(icd_pack(ICD_RDEX, 1), 2, false, &count);
	assert_int_equal(count, ICD_MAX);
}

/* What the graph has passed on: the number of components, and the size of the last. */
struct handed {
	unsigned times;
	uint32_t size;
	uint64_t blocks;
};

static void count_component(void *arg, struct idg *g, uint32_t component)
{
	struct handed *h = arg;

	h->times++;
	h->size = g->node[component].size;
	h->blocks = g->node[component].blocks;
}

static void component_comes_once_and_whole(void **state)
{
	struct handed h = {0};
	struct idg g = {.done = count_component, .arg = &h};
	uint32_t a = idg_new(&g, 0, 1, false), b = idg_new(&g, 1, 2, false);
	uint32_t c = idg_new(&g, 2, 3, false), out = idg_new(&g, 3, 4, true);
	idg_ref to_b = idg_ref_to(&g, b), to_out = idg_ref_to(&g, out);

	(void)state;
	idg_add(&g, a, out);
	idg_add(&g, a, b);
	idg_add(&g, b, a);
	idg_add(&g, c, a);
	idg_add(&g, b, c);
	idg_end(&g, b, 10);
	assert_int_equal(h.times, 0);
	idg_end(&g, a, 11); /* a and b are a component, but c is open and reaches it */
	assert_int_equal(h.times, 0);
	assert_int_not_equal(idg_at(&g, to_b), IDG_NONE);
	assert_int_equal(g.node[a].of, g.node[b].of);
	idg_end(&g, c, 12);
	assert_int_equal(h.times, 1);
	assert_int_equal(h.size, 3);
	assert_int_equal(h.blocks, 3);
	assert_int_equal(g.alive, 0);
	assert_int_equal(idg_at(&g, to_b), IDG_NONE);
	assert_int_equal(idg_at(&g, to_out), IDG_NONE);
	idg_free(&g);
}

static void what_has_no_cycle_is_forgotten(void **state)
{
	struct handed h = {0};
	struct idg g = {.done = count_component, .arg = &h};

	(void)state;
	for (uint64_t i = 1; i < 1000; i++) {
		uint32_t a = idg_new(&g, 0, i, false), b = idg_new(&g, 1, i, false);

		idg_add(&g, a, b);
		assert_true(idg_log(&g, a, i + 5, OP_READ, 7));
		idg_end(&g, b, i);
		idg_end(&g, a, i);
		assert_int_equal(g.alive, 0);
	}
	assert_int_equal(h.times, 0);
	assert_int_equal(g.max_alive, 2);
	idg_free(&g);
}

static void pool_keeps_the_edges(void **state)
{
	struct handed h = {0};
	struct idg g = {.done = count_component, .arg = &h};
	uint32_t a = idg_new(&g, 0, 1, false), b = idg_new(&g, 1, 2, false);
	uint32_t c = idg_new(&g, 2, 3, false), pool;
	idg_ref to_b = idg_ref_to(&g, b), to_c = idg_ref_to(&g, c);

	(void)state;
	idg_add(&g, a, b);
	idg_add(&g, b, c);
	idg_log(&g, b, 3, OP_WRITE, 1);
	idg_end(&g, b, 4);
	idg_end(&g, c, 5);
	pool = idg_pool(&g);
	to_b = idg_moved(&g, to_b);
	to_c = idg_moved(&g, to_c);
	idg_pool_end(&g, pool);
	assert_int_equal(to_b, to_c);
	assert_int_equal(g.alive, 2);
	assert_true(g.node[pool].lost);
	assert_false(g.node[pool].cyclic);
	/* b came before c. As one pooled node, c may seem to come before a. */
	idg_add(&g, idg_at(&g, to_c), a);
	idg_end(&g, a, 6);
	assert_int_equal(h.times, 1);
	assert_int_equal(h.blocks, 3);
	assert_int_equal(g.alive, 0);
	idg_free(&g);
}

static void event_too_far_away_loses_the_log(void **state)
{
	struct idg g = {0};
	uint32_t a = idg_new(&g, 0, 100, false);

	(void)state;
	assert_true(idg_log(&g, a, 100 + IDG_AFTER_MAX, OP_READ, 1));
	assert_false(g.node[a].lost);
	assert_false(idg_log(&g, a, 101 + IDG_AFTER_MAX, OP_READ, 1));
	assert_true(g.node[a].lost);
	assert_int_equal(g.log_bytes, 0);
	idg_free(&g);
}

static void suspects_come_back_as_they_were(void **state)
{
	char path[] = "/tmp/atomsan-suspects-XXXXXX";
	struct suspects out = {.outside = true}, in = {0};
	struct err err = {{0}};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 500; i++) {
		char name[32];

		snprintf(name, sizeof name, "f%d(int)", i % 250);
		assert_int_equal(suspects_add(&out, name), i < 250);
	}
	assert_true(suspects_add(&out, "a\\b\nc\r"));
	assert_true(suspects_add(&out, " blanks "));
	assert_true(suspects_add(&out, ""));
	assert_int_equal(suspects_write(&out, path, &err), 0);
	assert_int_equal(suspects_read(&in, path, true, &err), 0);
	assert_int_equal(in.n, out.n);
	assert_true(in.outside);
	for (size_t i = 0; i < out.n; i++)
		assert_true(suspects_has(&in, out.v[i]));
	assert_false(suspects_has(&in, "f250(int)"));
	suspects_free(&in);
	suspects_free(&out);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_follow_the_table),
		cmocka_unit_test(count_stands_still_at_its_end),
		cmocka_unit_test(component_comes_once_and_whole),
		cmocka_unit_test(what_has_no_cycle_is_forgotten),
		cmocka_unit_test(pool_keeps_the_edges),
		cmocka_unit_test(event_too_far_away_loses_the_log),
		cmocka_unit_test(suspects_come_back_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
