/* Each class of findings is recognised, sorted and hidden as rank.h and shown.h say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "report_fixture.h"
#include "report/rank.h"
#include "report/region.h"
#include "report/shown.h"

#include "base/banned.h"

static const char *m[] = {"m"}, *n[] = {"n"}, *shared_m[] = {"m (shared)"};

/* Steps of a pattern over x; T1's block began at event 3, T2's at event 8. */
static struct finding_step step(const char *thread, uint64_t event, const char *op,
				const char *operand)
{
	return (struct finding_step){.thread = thread,
				     .event = event,
				     .op = op,
				     .past = "used",
				     .operand = operand,
				     .label = "deposit",
				     .begin = thread[1] == '1' ? 3 : 8,
				     .place = "bank.c:12"};
}

static struct finding_step with(struct finding_step s, const char **held, const char *place)
{
	s.held = held;
	s.nheld = held != NULL;
	s.place = place;
	return s;
}

/* A finding of a recorded run that owns a copy of the steps. */
static struct finding *pattern(const struct finding_step *steps, size_t nsteps)
{
	struct finding *f = finding_new();

	f->steps = arena_alloc(&f->arena, nsteps * sizeof *steps);
	memcpy(f->steps, steps, nsteps * sizeof *steps);
	f->nsteps = nsteps;
	f->kind = "pattern";
	f->status = FINDING_PREDICTED;
	f->rests_on = RESTS_ON_DATA;
	f->recorded = true;
	f->transaction = (struct finding_block){.thread = "T1", .label = "deposit", .begin = 3};
	f->variable = steps[0].operand;
	f->event = steps[nsteps - 1].event;
	finding_seal(f);
	return f;
}

static struct finding *ops(const char *before, const char *between, const char *after,
			   const char **held)
{
	struct finding_step s[] = {with(step("T1", 5, before, "x"), held, "bank.c:12:3"),
				   with(step("T2", 10, between, "x"), held, "bank.c:14:3"),
				   with(step("T1", 16, after, "x"), held, "bank.c:16:3")};

	return pattern(s, N(s));
}

static void assert_class(struct finding *f, enum finding_class wanted, const char *reason)
{
	rank_classify(f);
	if (f->rank_class != wanted)
		fail_msg("class is '%s', not '%s': %s", finding_class_names[f->rank_class],
			 finding_class_names[wanted], f->nreasons ? f->reasons[0] : "no reason");
	assert_true(f->nreasons > 0);
	assert_has(f->reasons[0], reason);
	finding_free(f);
}

static void test_stale_write(void **state)
{
	struct finding *f;
	uint64_t before[] = {4}, after[] = {12}, long_ago[] = {1};
	struct finding_use again = {.event = 15, .reads = true};

	(void)state;
	assert_class(ops("r", "w", "w", m), CLASS_STALE_WRITE, "under m, which was released");
	assert_class(ops("r", "w", "w", shared_m), CLASS_CHECK_THEN_ACT, "without a lock that");
	/* The other thread does not hold the lock: only the times of the acquires tell. */
	f = ops("r", "w", "w", m);
	f->steps[1].nheld = 0;
	f->steps[0].held_since = before;
	f->steps[2].held_since = after;
	assert_class(f, CLASS_STALE_WRITE, "under m, which was released");
	f = ops("r", "w", "w", m);
	f->steps[1].nheld = 0;
	f->steps[0].held_since = f->steps[2].held_since = long_ago;
	assert_class(f, CLASS_CHECK_THEN_ACT, "without a lock that");
	/* The value was read again before it was written. */
	f = ops("r", "w", "w", m);
	f->steps[0].held_since = before;
	f->steps[2].held_since = after;
	f->steps[2].uses = &again;
	f->steps[2].nuses = 1;
	assert_class(f, CLASS_OTHER, "after it was read again");
	/* It was read again, but before the lock was released. */
	f = ops("r", "w", "w", m);
	f->steps[0].held_since = before;
	f->steps[2].held_since = after;
	f->steps[2].uses = &again;
	f->steps[2].nuses = 1;
	again.event = 6;
	assert_class(f, CLASS_STALE_WRITE, "released in between");
	again = (struct finding_use){.event = 15, .writes = true};
	f = ops("r", "w", "w", m);
	f->steps[0].held_since = before;
	f->steps[2].held_since = after;
	f->steps[2].uses = &again;
	f->steps[2].nuses = 1;
	assert_class(f, CLASS_STALE_WRITE, "released in between");
}

static void test_check_then_act(void **state)
{
	struct finding_step other_locks[] = {with(step("T1", 5, "r", "x"), m, "a.c:1"),
					     with(step("T2", 10, "w", "x"), m, "a.c:2"),
					     with(step("T1", 16, "w", "x"), n, "a.c:3")};
	struct finding_step guarded[] = {with(step("T1", 5, "r", "x"), m, "a.c:1"),
					 with(step("T2", 10, "w", "x"), m, "a.c:2"),
					 with(step("T2", 11, "w", "y"), m, "a.c:2"),
					 with(step("T1", 16, "w", "y"), m, "a.c:3")};
	struct finding *f;

	(void)state;
	assert_class(ops("r", "w", "w", NULL), CLASS_CHECK_THEN_ACT, "without a lock");
	assert_class(ops("r", "free", "r", m), CLASS_CHECK_THEN_ACT, "frees the memory");
	/* Loaded, then stored: lost although both are atomic. */
	assert_class(ops("r", "u", "w", NULL), CLASS_CHECK_THEN_ACT, "without a lock");
	assert_class(pattern(other_locks, N(other_locks)), CLASS_CHECK_THEN_ACT, "keeps the other");
	f = ops("r", "w", "r", m);
	f->acts = true;
	assert_class(f, CLASS_CHECK_THEN_ACT, "and then written");
	assert_class(pattern(guarded, N(guarded)), CLASS_CHECK_THEN_ACT,
		     "x is read, then y written, under m, which was released");
	guarded[2].held = n;
	assert_class(pattern(guarded, N(guarded)), CLASS_WEAK, "do not seem");
}

/* A finding over two variables: T1 does `before` to x and `after` to y, T2 does the others. */
static struct finding *two(const char *before, const char *on_x, const char *on_y,
			   const char *after)
{
	struct finding_step s[] = {step("T1", 5, before, "x"), step("T2", 10, on_x, "x"),
				   step("T2", 11, on_y, "y"), step("T1", 16, after, "y")};

	for (size_t i = 0; i < N(s); i++)
		s[i].var = (uint32_t)s[i].operand[0];
	return pattern(s, N(s));
}

/* Under the lock m at the steps i and k, since these events. */
static void hold(struct finding *f, size_t i, uint64_t *since_i, size_t k, uint64_t *since_k)
{
	f->steps[i].held = f->steps[k].held = m;
	f->steps[i].nheld = f->steps[k].nheld = 1;
	f->steps[i].held_since = since_i;
	f->steps[k].held_since = since_k;
}

static void test_several(void **state)
{
	uint64_t old[] = {4}, new[] = {12}, of_x[] = {9}, of_y[] = {11};
	struct finding_use both = {.event = 8, .var = 'x', .reads = true};
	struct finding *f;
	struct finding_step far[] = {step("T1", 5, "w", "x"),  step("T2", 10, "r", "x"),
				     step("T2", 11, "w", "z"), step("T3", 12, "r", "z"),
				     step("T3", 13, "w", "y"), step("T1", 16, "r", "y")};

	(void)state;
	assert_class(two("w", "r", "r", "w"), CLASS_SEVERAL, "x and y are read together");
	assert_class(two("r", "w", "w", "r"), CLASS_SEVERAL, "x and y are written together");
	assert_class(two("w", "r", "w", "r"), CLASS_WEAK, "do not seem to belong together");
	assert_class(two("r", "w", "r", "w"), CLASS_WEAK, "do not seem to belong together");
	assert_class(two("u", "r", "r", "u"), CLASS_ATOMIC_VARIABLE, "each by itself");
	/* The other thread reads them in two functions, or in two critical sections. */
	f = two("w", "r", "r", "w");
	f->steps[2].begin = 11;
	assert_class(f, CLASS_WEAK, "do not seem");
	f = two("w", "r", "r", "w");
	hold(f, 1, of_x, 2, of_x);
	assert_class(f, CLASS_SEVERAL, "read together");
	f = two("w", "r", "r", "w");
	hold(f, 1, of_x, 2, of_y);
	assert_class(f, CLASS_WEAK, "do not seem");
	for (int excluded = 0; excluded < 2; excluded++) {
		f = two("r", "w", "w", "r");
		hold(f, 0, old, 3, new);
		if (excluded)
			hold(f, 1, of_x, 2, of_x);
		f->steps[0].together = true;
		assert_class(f, excluded ? CLASS_WEAK : CLASS_SEVERAL,
			     excluded ? "do not seem" : "written together");
	}
	/* The last critical section of the thread uses both variables, or the one before did. */
	f = two("r", "w", "w", "r");
	hold(f, 0, old, 3, new);
	hold(f, 1, of_x, 2, of_x);
	f->steps[3].uses = &both;
	f->steps[3].nuses = 1;
	assert_class(f, CLASS_SEVERAL, "written together");
	f = two("r", "w", "w", "r");
	hold(f, 0, old, 3, new);
	hold(f, 1, of_x, 2, of_x);
	f->steps[3].uses = &both;
	f->steps[3].nuses = 1;
	both.event = 15;
	assert_class(f, CLASS_WEAK, "do not seem");
	f = pattern(far, N(far));
	f->kind = "cycle";
	f->status = FINDING_OBSERVED;
	assert_class(f, CLASS_OTHER, "no serial order");
}

static void test_other(void **state)
{
	struct finding *f = finding_new();

	(void)state;
	assert_class(ops("w", "w", "r", m), CLASS_OTHER, "read back");
	assert_class(ops("w", "r", "w", m), CLASS_OTHER, "written twice");
	assert_class(ops("r", "w", "r", m), CLASS_OTHER, "read twice");
	f->kind = "lockset";
	assert_class(f, CLASS_OTHER, "no lock is held");
}

static void test_lock_order(void **state)
{
	struct finding_step s[] = {step("T1", 5, "rel", "m"), step("T2", 10, "acq", "m"),
				   step("T2", 11, "rel", "m"), step("T1", 16, "acq", "m")};
	struct finding *f = pattern(s, N(s));

	(void)state;
	f->kind = "cycle";
	f->rests_on = RESTS_ON_LOCKS;
	assert_class(f, CLASS_LOCK_ORDER, "only lock operations");
}

static void test_atomic_variable(void **state)
{
	struct finding *f;

	(void)state;
	assert_class(ops("u", "u", "u", NULL), CLASS_ATOMIC_VARIABLE, "only about x");
	/* The loop of a compare-and-exchange. */
	assert_class(ops("r", "u", "u", NULL), CLASS_ATOMIC_VARIABLE, "only about x");
	f = ops("w", "r", "w", NULL);
	f->steps[1].updated = true;
	assert_class(f, CLASS_ATOMIC_VARIABLE, "only about x");
}

static void test_library_part(void **state)
{
	static struct finding_frame wait[] =
		{{"std::__detail::__waiter_pool_base::_M_leave_wait()"},
		 {"void std::__atomic_wait_address<int>(int const*)"},
		 {"std::latch::wait() const"},
		 {"deposit()"}},
				    own[] = {{"deposit()"}, {"std::latch::wait() const"}},
				    other[] = {{"std::vector<int>::size() const"}, {"deposit()"}};
	struct finding *f;

	(void)state;
	f = ops("r", "w", "w", NULL);
	f->steps[2].stack = (struct finding_stack){wait, N(wait)};
	assert_class(f, CLASS_SYNCHRONISATION, "by std::atomic::wait()");
	f = ops("r", "w", "w", NULL);
	f->steps[0].stack = (struct finding_stack){&wait[2], 2};
	assert_class(f, CLASS_SYNCHRONISATION, "by std::latch");
	f = ops("r", "w", "w", NULL);
	f->steps[1].stack = (struct finding_stack){wait, N(wait)};
	assert_class(f, CLASS_SYNCHRONISATION, "by std::atomic::wait()");
	/* A function that the library calls, and other parts of the library. */
	f = ops("r", "w", "w", NULL);
	f->steps[0].stack = f->steps[2].stack = (struct finding_stack){own, N(own)};
	assert_class(f, CLASS_CHECK_THEN_ACT, "without a lock");
	f = ops("r", "w", "w", NULL);
	f->steps[0].stack = f->steps[2].stack = (struct finding_stack){other, N(other)};
	assert_class(f, CLASS_CHECK_THEN_ACT, "without a lock");
}

static void test_synchronisation(void **state)
{
	static struct finding_frame spin[] = {{"my_spin_lock", "/src/a.c", NULL, 3}},
				    plain[] = {{"deposit", "/src/a.c", NULL, 3}};
	struct finding *f;

	(void)state;
	assert_class(ops("u", "u", "w", NULL), CLASS_SYNCHRONISATION, "hand-made lock");
	assert_class(ops("u", "w", "w", NULL), CLASS_ATOMIC_VARIABLE, "only about x");
	/* A spin wait reads at one place. */
	f = ops("r", "w", "r", NULL);
	f->steps[2].place = f->steps[0].place;
	assert_class(f, CLASS_SYNCHRONISATION, "a loop reads x");
	/* The name of the function says it, if atomic operations are used. */
	for (int updated = 0; updated < 2; updated++) {
		f = ops("w", "r", "w", NULL);
		f->steps[0].stack = f->steps[2].stack = (struct finding_stack){spin, 1};
		f->steps[1].updated = updated;
		assert_class(f, updated ? CLASS_SYNCHRONISATION : CLASS_OTHER,
			     updated ? "inside my_spin_lock()" : "written twice");
	}
	f = ops("u", "r", "u", NULL);
	f->steps[0].stack = f->steps[2].stack = (struct finding_stack){plain, 1};
	assert_class(f, CLASS_ATOMIC_VARIABLE, "only about x");
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* What the source says decides between findings of the same shape. */
static void test_source(void **state)
{
	char path[] = "/tmp/rank-XXXXXX";
	struct finding_frame line[6];
	uint64_t old[] = {4}, new[] = {12};
	struct finding_use again = {.event = 15, .reads = true};
	struct finding *f;

	(void)state;
	close(mkstemp(path));
	write_file(path, "if (x < y)\nif (x < y)\nif (x == BUSY)\nx++;\n"
			 "while (!atomic_compare_exchange_weak(&x, &a, b))\n");
	for (uint32_t i = 1; i < N(line); i++)
		line[i] = (struct finding_frame){"f", path, NULL, i};

	/* The second read: the same check, a comparison, or a use. */
	f = ops("r", "w", "r", m);
	f->steps[0].stack = (struct finding_stack){&line[1], 1};
	f->steps[2].stack = (struct finding_stack){&line[2], 1};
	assert_class(f, CLASS_WEAK, "sees the change");
	f = ops("r", "w", "r", m);
	f->steps[0].stack = (struct finding_stack){&line[1], 1};
	f->steps[2].stack = (struct finding_stack){&line[3], 1};
	assert_class(f, CLASS_WEAK, "sees the change");
	f = ops("r", "w", "r", m);
	f->steps[0].stack = (struct finding_stack){&line[1], 1};
	f->steps[2].stack = (struct finding_stack){&line[4], 1};
	assert_class(f, CLASS_OTHER, "read twice");

	/* Between the first read and the write, a read that checks, or only one that uses. */
	for (int checks = 0; checks < 2; checks++) {
		f = ops("r", "w", "w", m);
		hold(f, 0, old, 2, new);
		f->steps[2].uses = &again;
		f->steps[2].nuses = 1;
		again.stack = (struct finding_stack){&line[checks ? 3 : 4], 1};
		assert_class(f, checks ? CLASS_WEAK : CLASS_OTHER,
			     checks ? "check is made again" : "after it was read again");
	}

	/* An atomic change that compares, or not. */
	f = ops("r", "u", "u", NULL);
	f->steps[2].stack = (struct finding_stack){&line[4], 1};
	assert_class(f, CLASS_CHECK_THEN_ACT, "does not compare it");
	f = ops("r", "u", "u", NULL);
	f->steps[2].stack = (struct finding_stack){&line[5], 1};
	assert_class(f, CLASS_ATOMIC_VARIABLE, "only about x");
	unlink(path);
}

static void test_weak(void **state)
{
	uint64_t old[] = {4}, new[] = {12};
	struct finding_use again = {.event = 15, .reads = true};
	struct finding *f;

	(void)state;
	/* x++ twice, each under the lock. */
	f = ops("w", "r", "w", m);
	hold(f, 0, old, 2, new);
	f->steps[2].uses = &again;
	f->steps[2].nuses = 1;
	assert_class(f, CLASS_WEAK, "reads the variable anew");
	/* Double-checked locking. */
	f = ops("r", "w", "w", m);
	f->steps[0].nheld = 0;
	f->steps[2].held_since = new;
	f->steps[2].uses = &again;
	f->steps[2].nuses = 1;
	assert_class(f, CLASS_WEAK, "checked again under it");
	f = ops("r", "w", "w", m);
	f->steps[0].nheld = 0;
	f->steps[2].held_since = new;
	assert_class(f, CLASS_CHECK_THEN_ACT, "without a lock");
	/* Two writes belong together in a function, not in a part of one. */
	f = ops("w", "r", "w", NULL);
	f->region = (struct finding_region){REGION_PAIR, "worker", NULL, "it is"};
	assert_class(f, CLASS_WEAK, "two writes");
	f = ops("w", "r", "w", NULL);
	f->steps[0].operand = f->steps[1].operand = f->steps[2].operand = "p.sequence";
	assert_class(f, CLASS_SYNCHRONISATION, "p.sequence is a counter");
}

/* The function is called with the lock, and calls back without it. */
static void test_callback(void **state)
{
	struct finding_block with_lock = {"T1", "run", "a.c:1", 4, REGION_FUNCTION};
	struct finding *f = ops("r", "w", "w", m);

	(void)state;
	with_lock.held = m;
	with_lock.nheld = 1;
	f->steps[0].blocks = f->steps[2].blocks = &with_lock;
	f->steps[0].nblocks = f->steps[2].nblocks = 1;
	assert_class(f, CLASS_SYNCHRONISATION, "is called with m held");
	f = ops("r", "w", "w", m);
	with_lock.held = n;
	f->steps[0].blocks = f->steps[2].blocks = &with_lock;
	f->steps[0].nblocks = f->steps[2].nblocks = 1;
	assert_class(f, CLASS_STALE_WRITE, "released in between");
}

static void test_region(void **state)
{
	static struct finding_block before[] = {{"T1", "worker", "a.c:30", 1, REGION_FUNCTION},
						{"T1", "job", "a.c:20", 3, REGION_FUNCTION},
						{"T1", "get", "a.c:10", 4, REGION_FUNCTION}},
				    after[] = {{"T1", "worker", "a.c:30", 1, REGION_FUNCTION},
					       {"T1", "job", "a.c:20", 3, REGION_FUNCTION},
					       {"T1", "get", "a.c:10", 9, REGION_FUNCTION}};
	struct finding *f = ops("r", "w", "w", m);

	(void)state;
	f->steps[0].blocks = before;
	f->steps[2].blocks = after;
	f->steps[0].nblocks = f->steps[2].nblocks = 3;
	rank_classify(f);
	assert_int_equal(f->region.kind, REGION_FUNCTION);
	assert_string_equal(f->region.name, "job");
	assert_string_equal(f->region.place, "a.c:20");
	assert_non_null(f->region.why);
	finding_free(f);

	/* What the engine says stands. */
	f = ops("r", "w", "w", m);
	f->steps[0].blocks = before;
	f->steps[2].blocks = after;
	f->steps[0].nblocks = f->steps[2].nblocks = 3;
	f->region = (struct finding_region){REGION_PAIR, "worker", "a.c:31", "it is a pair"};
	rank_classify(f);
	assert_int_equal(f->region.kind, REGION_PAIR);
	assert_string_equal(region_name(f), "worker");
	finding_free(f);

	/* But of nested blocks the innermost counts. */
	f = ops("r", "w", "w", m);
	f->steps[0].blocks = before;
	f->steps[2].blocks = after;
	f->steps[0].nblocks = f->steps[2].nblocks = 3;
	f->region = (struct finding_region){REGION_FUNCTION, "worker", "a.c:31", "it is one"};
	rank_classify(f);
	assert_string_equal(region_name(f), "job");
	finding_free(f);
}

static void test_inlined(void **state)
{
	struct finding_frame before[] = {{"load", "/a.c", NULL, 3, 1, 0, true},
					 {"add", "/a.c", NULL, 5, 2, 0, true},
					 {"work", "/a.c", NULL, 30, 4, 0, false}},
			     after[] = {{"store", "/a.c", NULL, 8, 1, 0, true},
					{"add", "/a.c", NULL, 6, 2, 0, true},
					{"work", "/a.c", NULL, 30, 4, 0, false}};
	const struct finding_stack a = {before, 3}, b = {after, 3};

	(void)state;
	assert_string_equal(region_inlined(&a, &b, "work"), "add");
	assert_string_equal(region_inlined(&a, &b, "main"), "main");
	/* The second access comes first in the source: maybe another round of a loop. */
	assert_string_equal(region_inlined(&b, &a, "work"), "work");
	/* Two calls of the same function. */
	after[2].line = 31;
	assert_string_equal(region_inlined(&a, &b, "work"), "work");
	after[2].line = 30;
	/* Not inlined: it is a block, and would have been named. */
	after[1].inlined = false;
	assert_string_equal(region_inlined(&a, &b, "work"), "work");
}

static void test_callers(void **state)
{
	static struct finding_frame frames[] = {{"get", "/src/a.c", NULL, 3},
						{"deposit", "/src/a.c", NULL, 9},
						{"job", "/src/a.c", NULL, 20},
						{"invoke", "/usr/include/c++/12/thread", NULL, 7},
						{"worker", "/src/a.c", NULL, 30},
						{"start_thread", "nptl/pthread_create.c", NULL, 4}};
	struct finding *f = ops("r", "w", "w", m);
	struct str b = STR_INIT;

	(void)state;
	f->steps[0].stack = (struct finding_stack){frames, N(frames)};
	rank_classify(f);
	assert_string_equal(f->region.name, "deposit");
	region_add_callers(&b, f);
	assert_string_equal(b.s, "job(), worker()");
	str_free(&b);
	finding_free(f);
}

/* --- what is shown --- */

static void test_order(void **state)
{
	struct bench *b = *state;
	struct finding_list *l = &b->result[0].findings;
	struct finding *atomic = ops("u", "u", "u", NULL), *possible, *other, *seen, *stale;

	atomic->steps[0].place = "bank.c:2";
	emit(b, atomic);
	possible = ops("r", "w", "w", m);
	possible->feasible = FEASIBLE_NO;
	possible->steps[0].place = "bank.c:1";
	emit(b, possible);
	other = ops("w", "r", "w", NULL);
	other->steps[0].place = "bank.c:3";
	emit(b, other);
	seen = ops("w", "w", "r", NULL);
	seen->kind = "cycle";
	seen->status = FINDING_OBSERVED;
	emit(b, seen);
	stale = ops("r", "w", "w", m);
	emit(b, stale);
	shown_select(l, false, false);
	assert_int_equal(l->nshown, 3);
	assert_ptr_equal(l->v[0], stale);
	assert_ptr_equal(l->v[1], seen);
	assert_ptr_equal(l->v[2], other);
	assert_int_equal(stale->rank, 1);
	assert_int_equal(other->rank, 3);
	assert_int_equal(atomic->rank, 4);
	assert_int_equal(possible->rank, 5);
	assert_int_equal(l->hidden[HIDDEN_ATOMIC], 1);
	assert_int_equal(l->hidden[HIDDEN_SYNCHRONISATION], 0);
	assert_int_equal(l->hidden[HIDDEN_POSSIBLE], 1);
	assert_int_equal(shown_count(l), 3);
	assert_has(print(b, "text"), "atomsan: 2 more findings are not shown (-v shows them): 1 "
				     "about one atomic\n    variable, 1 merely possible\n");
	assert_null(strstr(print(b, "json"), "atomic variable\""));
}

static void test_verbose(void **state)
{
	struct bench *b = *state;
	struct finding_list *l = &b->result[0].findings;
	struct finding *possible = ops("r", "w", "w", m);

	possible->feasible = FEASIBLE_NO;
	emit(b, possible);
	emit(b, ops("u", "u", "u", NULL));
	shown_select(l, true, false);
	assert_int_equal(l->nshown, 2);
	/* A prediction that follows only locks is never a reason to fail. */
	assert_int_equal(shown_count(l), 1);
}

/* Of other traces all are shown, as the engine says. */
static void test_abstract(void **state)
{
	struct bench *b = *state;
	struct finding_list *l = &b->result[0].findings;
	struct finding *atomic = ops("u", "u", "u", NULL), *stale = ops("r", "w", "w", m);

	atomic->recorded = stale->recorded = false;
	stale->transaction.begin = 30;
	emit(b, atomic);
	emit(b, stale);
	shown_select(l, false, false);
	assert_int_equal(l->nshown, 2);
	assert_ptr_equal(l->v[0], atomic);
	assert_int_equal(atomic->rank, 2);
	assert_int_equal(stale->rank, 1);
	assert_int_equal(shown_count(l), 2);
}

/* An observed cycle about two variables that nothing connects, whose last access is at a place. */
static struct finding *loose_cycle(const char *place, const char *last)
{
	struct finding_step s[] = {with(step("T1", 5, "w", "x"), m, "bank.c:12:3"),
				   with(step("T2", 10, "r", "x"), m, "bank.c:14:3"),
				   with(step("T2", 12, "w", last), n, "bank.c:15:3"),
				   with(step("T1", 16, "r", last), n, place)};
	struct finding *f = pattern(s, N(s));

	f->kind = "cycle";
	f->status = FINDING_OBSERVED;
	return f;
}

static void test_cause_of_region(void **state)
{
	struct bench *b = *state;
	struct finding_list *l = &b->result[0].findings;

	emit(b, loose_cycle("bank.c:16:3", "y"));
	emit(b, loose_cycle("bank.c:17:3", "y"));
	emit(b, loose_cycle("bank.c:18:3", "z"));
	/* With the same variable, the line matters. */
	emit(b, loose_cycle("bank.c:19:3", "x"));
	shown_select(l, false, false);
	assert_int_equal(l->v[0]->rank_class, CLASS_OTHER);
	assert_int_equal(shown_count(l), 2);
}

/* Columns, callers, the other thread's place and the object do not make another cause. */
static void test_cause(void **state)
{
	struct bench *b = *state;
	struct finding_list *l = &b->result[0].findings;
	struct finding *f = ops("r", "w", "w", m), *line = ops("r", "w", "w", m);
	struct groups g;

	emit(b, ops("r", "w", "w", m));
	f->steps[0].place = "bank.c:12:99";
	f->steps[1].place = "other.c:1";
	emit(b, f);
	line->steps[2].place = "bank.c:17:3";
	emit(b, line);
	assert_int_equal(l->n, 3);
	shown_select(l, false, false);
	assert_int_equal(shown_count(l), 2);
	assert_int_equal(f->rank, 1);
	assert_int_equal(line->rank, 2);
	g = shown_groups(l);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.v[0].n, 2);
	group_free(&g);
	/* Every format counts causes. */
	assert_has(print(b, "text"), "atomsan: 2 atomicity violations");
	assert_has(print(b, "json"), "\"count\": 2");
	shown_select(l, false, true);
	assert_int_equal(shown_count(l), 3);
}

static void test_objects(void **state)
{
	struct bench *b = *state;
	struct finding *f = ops("r", "w", "w", m), *other = ops("r", "w", "w", m);
	struct finding_list *l = &b->result[0].findings;

	for (size_t i = 0; i < 3; i++) {
		f->steps[i].operand = "accounts[3].b (allocated at a.c:9) #2";
		other->steps[i].operand = "accounts[].c";
	}
	f->steps[1].place = "x.c:1";
	other->steps[1].place = "y.c:1";
	emit(b, f);
	emit(b, other);
	f = ops("r", "w", "w", m);
	for (size_t i = 0; i < 3; i++)
		f->steps[i].operand = "accounts[17].b";
	emit(b, f);
	shown_select(l, false, false);
	assert_int_equal(shown_count(l), 2);
}

/* What a reader of a seqlock reads is checked by the counter. */
static void test_sequence(void **state)
{
	struct bench *b = *state;
	struct finding_list *l = &b->result[0].findings;
	struct finding *pair = two("r", "w", "w", "r"), *counter = ops("r", "w", "r", NULL);

	emit(b, pair);
	shown_select(l, false, false);
	assert_int_equal(pair->rank_class, CLASS_SEVERAL);
	for (size_t i = 0; i < 3; i++)
		counter->steps[i].operand = "p.sequence";
	emit(b, counter);
	shown_select(l, false, false);
	assert_int_equal(pair->rank_class, CLASS_SYNCHRONISATION);
	assert_int_equal(shown_count(l), 0);
}

/* A cycle of lock operations has the cause of the data cycle in the same transaction. */
static void test_locks_join(void **state)
{
	struct finding_step s[] = {step("T1", 5, "rel", "m"), step("T2", 10, "acq", "m"),
				   step("T2", 11, "rel", "m"), step("T1", 15, "acq", "m")};
	struct bench *b = *state;
	struct finding *locks = pattern(s, N(s)), *data = ops("r", "w", "w", m);

	locks->kind = data->kind = "cycle";
	locks->status = data->status = FINDING_OBSERVED;
	locks->rests_on = RESTS_ON_LOCKS;
	emit(b, locks);
	emit(b, data);
	shown_select(&b->result[0].findings, false, false);
	assert_int_equal(shown_count(&b->result[0].findings), 1);
	assert_int_equal(locks->rank, 1);
	assert_ptr_equal(b->result[0].findings.v[0], data);
	/* JSON keeps the order of events and both. */
	assert_has(print(b, "json"), "\"verdict\": \"violation\"");
	assert_true(strstr(b->text, "\"lock order\"") < strstr(b->text, "\"stale write\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale_write),
		cmocka_unit_test(test_check_then_act),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_lock_order),
		cmocka_unit_test(test_atomic_variable),
		cmocka_unit_test(test_synchronisation),
		cmocka_unit_test(test_library_part),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_weak),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_region),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_callers),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verbose, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abstract, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cause_of_region, setup, teardown),
		cmocka_unit_test_setup_teardown(test_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sequence, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locks_join, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
