/*
 * The generator's table: each shape has the property that gives it its name, and
 * impossible options are refused with a sentence. test_gen.c checks the verdicts.
 */
#include "trace/gen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/mem.h"

#include "base/banned.h"

struct trace {
	struct gen *g;
	struct event *ev;
	size_t n, cap;
};

static struct trace make(const struct gen_options *o)
{
	struct trace t = {0};
	struct err err = {0};
	int n;

	t.g = gen_open(o, &err);
	if (!t.g)
		fail_msg("%s: %s", o->shape, err.text);
	do {
		MEM_GROW(t.ev, t.cap, t.n + GEN_BATCH);
		n = gen_next(t.g, t.ev + t.n);
		assert_in_range(n, 0, GEN_BATCH);
		t.n += (size_t)n;
	} while (n);
	assert_int_equal(gen_next(t.g, t.ev + t.n), 0);
	return t;
}

static void drop(struct trace *t)
{
	gen_close(t->g);
	mem_free(t->ev);
}

/* The property that gives each of these shapes its name. */
static void test_traits(void **state)
{
	struct gen_options o = {.shape = "nested", .events = 20000};
	uint32_t depth[64] = {0}, most = 0, outside = 0;
	struct trace t = make(&o);

	(void)state;
	for (size_t i = 0; i < t.n; i++) {
		uint32_t *d = &depth[t.ev[i].thread];

		*d += t.ev[i].op == OP_BEGIN;
		*d -= t.ev[i].op == OP_END;
		most = *d > most ? *d : most;
	}
	assert_int_equal(most, 64);
	drop(&t);

	o.shape = "outside";
	t = make(&o);
	for (size_t i = 0; i < t.n; i++) {
		uint32_t *d = &depth[t.ev[i].thread];

		*d += t.ev[i].op == OP_BEGIN;
		outside += !*d;
		*d -= t.ev[i].op == OP_END;
	}
	assert_true(outside > t.n / 10 * 8);
	drop(&t);

	o.shape = "sharing";
	t = make(&o);
	assert_int_equal(gen_names(t.g)->table[NAMES_THREAD].n, 64);
	drop(&t);

	o.shape = "many-locks";
	o.events = 500000;
	t = make(&o);
	assert_true(gen_names(t.g)->table[NAMES_LOCK].n > 19000);
	drop(&t);

	o.shape = "vars";
	o.events = 4000000;
	t = make(&o);
	assert_true(gen_names(t.g)->table[NAMES_VAR].n > 750000);
	drop(&t);
}

static void refuse(struct gen_options o, const char *sentence)
{
	struct err err = {0};

	assert_null(gen_open(&o, &err));
	assert_string_equal(err.text, sentence);
}

static void test_refused(void **state)
{
	(void)state;
	refuse((struct gen_options){.shape = "lock", .events = 1000},
	       "there is no shape 'lock' ('atomsan gen --list' lists them)");
	refuse((struct gen_options){.shape = "locks", .events = 29},
	       "locks: 29 events are too few: at least 30 for 8 threads and 0 violations");
	refuse((struct gen_options){.shape = "open", .events = 1000, .threads = 1},
	       "open: 1 threads are too few: at least 2");
	refuse((struct gen_options){.shape = "locks", .events = 1000, .threads = 1, .inject = 1},
	       "locks: 1 threads are too few: at least 2");
	refuse((struct gen_options){.shape = "lock-nests", .events = 1000, .inject = 1},
	       "lock-nests: violations cannot be planted: this shape is not serializable anyway");
	refuse((struct gen_options){.shape = "locks", .events = 1000, .locks = 1ull << 32},
	       "locks: 4294967296 locks are too many: at most 268435456");
	refuse((struct gen_options){.shape = "locks", .events = 1000, .inject = UINT64_MAX},
	       "locks: 18446744073709551615 violations are too many");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traits),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
