/* Fingerprints are the same in every run of a program; the list keeps one finding of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/finding.h"

#include "base/banned.h"

/* Returns a lost update by the threads a and b, with `shift` added to every event number. */
static struct finding *make_lost_update(const char *a, const char *b, uint64_t shift)
{
	struct finding *f = finding_new();
	struct finding_step *s = arena_alloc(&f->arena, 3 * sizeof *s);
	const char **refuted = arena_alloc(&f->arena, 2 * sizeof *refuted);

	a = arena_strdup(&f->arena, a);
	b = arena_strdup(&f->arena, b);
	s[0] = (struct finding_step){
		a, shift + 5, "r", "read", "x", "deposit", shift + 3, "bank.c:12",
	};
	s[1] = (struct finding_step){b, shift + 10, "w", "wrote", "x", NULL, 0, "bank.c:14"};
	s[2] = (struct finding_step){
		a, shift + 16, "w", "wrote", "x", "deposit", shift + 3, "bank.c:14",
	};
	refuted[0] = "deposit";
	refuted[1] = "inner";
	f->kind = "cycle";
	f->rests_on = RESTS_ON_DATA;
	f->event = shift + 16;
	f->transaction = (struct finding_block){a, "deposit", "bank.c:9", shift + 3};
	f->blame = f->transaction;
	f->refuted = refuted;
	f->nrefuted = 2;
	f->steps = s;
	f->nsteps = 3;
	finding_seal(f);
	return f;
}

static uint64_t seal_and_free(struct finding *f)
{
	uint64_t fingerprint;

	finding_seal(f);
	fingerprint = f->fingerprint;
	finding_free(f);
	return fingerprint;
}

static void test_new(void **state)
{
	struct finding *f = finding_new();

	(void)state;
	assert_int_equal(f->count, 1);
	assert_null(f->steps);
	assert_null(f->blame.thread);
	finding_free(f);
	finding_free(NULL);
}

static void test_same_fingerprint(void **state)
{
	uint64_t want = seal_and_free(make_lost_update("T1", "T2", 0));
	struct finding *f;

	(void)state;
	assert_true(want != 0);
	assert_true(seal_and_free(make_lost_update("T7", "worker", 1000)) == want);

	/* If a step has a place, its operand does not count: it may be an address. */
	f = make_lost_update("T1", "T2", 0);
	f->steps[1].operand = "0x7f00";
	f->variable = "0x7f00";
	assert_true(seal_and_free(f) == want);

	/* The depth of a recursion does not count either. */
	f = make_lost_update("T1", "T2", 0);
	f->refuted = (const char *[]){"deposit", "deposit", "inner"};
	f->nrefuted = 3;
	assert_true(seal_and_free(f) == want);
}

static void test_other_fingerprint(void **state)
{
	uint64_t want = seal_and_free(make_lost_update("T1", "T2", 0));
	struct finding *f;

	(void)state;
#define OTHER(change)                                                                              \
	do {                                                                                       \
		f = make_lost_update("T1", "T2", 0);                                               \
		change;                                                                            \
		assert_true(seal_and_free(f) != want);                                             \
	} while (0)
	OTHER(f->kind = "pattern");
	OTHER(f->kind = NULL);
	OTHER(f->steps[1].place = "bank.c:15");
	OTHER(f->steps[1].place = NULL);
	OTHER(f->steps[1].op = "u");
	OTHER(f->steps[1].label = "");
	OTHER(f->steps[1].label = "audit");
	OTHER(f->transaction.label = "withdraw");
	OTHER(f->refuted[1] = "outer");
	OTHER(f->nrefuted = 1);
	OTHER(f->nsteps = 2);
}

/* Without places the operand distinguishes steps, but a thread's name never does. */
static void test_no_place(void **state)
{
	uint64_t v[5];
	static const char *const names[][2] = {
		{"w", "x"}, {"w", "y"}, {"fork", "T1"}, {"fork", "T2"}, {"join", "T2"},
	};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct finding_step s = {.op = names[i][0], .operand = names[i][1]};
		struct finding *f = finding_new();

		f->steps = &s;
		f->nsteps = 1;
		v[i] = seal_and_free(f);
	}
	assert_true(v[0] != v[1]);
	assert_true(v[2] == v[3]);
	assert_true(v[3] != v[4]);
}

static void test_no_steps(void **state)
{
	struct finding *x = finding_new(), *y = finding_new();

	(void)state;
	x->variable = "x";
	y->variable = "y";
	assert_true(seal_and_free(x) != seal_and_free(y));
}

static void emit(struct finding_list *l, struct finding *f)
{
	l->sink.emit(&l->sink, f);
}

static void test_list(void **state)
{
	struct finding_list l;
	struct finding *other = make_lost_update("T1", "T2", 0);

	(void)state;
	other->steps[0].place = "bank.c:30";
	finding_seal(other);
	finding_list_init(&l, false);
	emit(&l, make_lost_update("T1", "T2", 0));
	emit(&l, make_lost_update("T3", "T4", 50));
	emit(&l, other);
	emit(&l, make_lost_update("T1", "T2", 90));
	assert_int_equal(l.n, 2);
	assert_int_equal(l.emitted, 4);
	assert_int_equal(l.v[0]->event, 16); /* the first of them */
	assert_int_equal(l.v[0]->count, 3);
	assert_ptr_equal(l.v[1], other);
	assert_int_equal(l.v[1]->count, 1);
	finding_list_free(&l);
	assert_int_equal(l.n, 0);
	finding_list_free(&l);
}

static bool is_even(const struct finding *f, void *calls)
{
	++*(int *)calls;
	return f->event % 2 == 0;
}

/* A finding that was kept is still a duplicate; one that was dropped is new. */
static void test_list_drop(void **state)
{
	enum { MANY = 300 };
	struct finding_list l;
	int calls = 0;

	(void)state;
	finding_list_init(&l, false);
	assert_int_equal(finding_list_drop(&l, is_even, &calls), 0);
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < MANY; i++) {
			struct finding *f = finding_new();

			f->event = f->fingerprint = i;
			emit(&l, f);
		}
	assert_int_equal(finding_list_drop(&l, is_even, &calls), MANY / 2);
	assert_int_equal(calls, MANY);
	assert_int_equal(l.n, MANY / 2);
	assert_int_equal(l.emitted, MANY);
	for (uint64_t i = 0; i < 2; i++) {
		struct finding *f = finding_new();

		f->event = f->fingerprint = i;
		emit(&l, f);
	}
	assert_int_equal(l.n, MANY / 2 + 1);
	assert_int_equal(l.v[0]->count, 3);
	assert_int_equal(l.v[1]->event, 3);
	assert_int_equal(l.v[MANY / 2]->event, 0);
	finding_list_free(&l);
}

static void test_list_all(void **state)
{
	struct finding_list l;

	(void)state;
	finding_list_init(&l, true);
	for (uint64_t i = 0; i < 100; i++)
		emit(&l, make_lost_update("T1", "T2", i));
	assert_int_equal(l.n, 100);
	assert_int_equal(l.emitted, 100);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(l.v[i]->event, i + 16);
		assert_int_equal(l.v[i]->count, 1);
	}
	finding_list_free(&l);
}

/* Many findings, each three times, with fingerprints that fall into the same slots. */
static void test_list_grows(void **state)
{
	enum { MANY = 5000 };
	struct finding_list l;

	(void)state;
	finding_list_init(&l, false);
	for (uint64_t i = 0; i < 3 * MANY; i++) {
		struct finding *f = finding_new();

		f->fingerprint = i % MANY << 20;
		emit(&l, f);
	}
	assert_int_equal(l.n, MANY);
	assert_int_equal(l.emitted, 3 * MANY);
	for (uint64_t i = 0; i < MANY; i++) {
		assert_true(l.v[i]->fingerprint == i << 20);
		assert_int_equal(l.v[i]->count, 3);
	}
	finding_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),        cmocka_unit_test(test_same_fingerprint),
		cmocka_unit_test(test_no_place),   cmocka_unit_test(test_other_fingerprint),
		cmocka_unit_test(test_no_steps),   cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_drop),  cmocka_unit_test(test_list_all),
		cmocka_unit_test(test_list_grows),
	};

	return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
