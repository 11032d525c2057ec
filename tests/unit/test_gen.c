/*
 * The generator: its traces can have happened, have the length that was asked for,
 * are the same each time, and are serializable or not as asked for. To check that,
 * the tests build the graph of transactions from all pairs of events, by the
 * definitions in event.h alone.
 */
#include "trace/gen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
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

static const char *string_of(const struct trace *t, strref ref)
{
	return gen_names(t->g)->table[NAMES_STRING].text[ref];
}

/* Checks the rules of reader.h, and that everything is closed at the end and names are in order. */
static void check_legal(const struct trace *t)
{
	const struct table *names = gen_names(t->g)->table;
	uint32_t threads = names[NAMES_THREAD].n, seen[NAMES_KINDS] = {0};
	uint32_t *holder = mem_zalloc((names[NAMES_LOCK].n + 1) * sizeof *holder);
	uint32_t *depth = mem_zalloc(threads * sizeof *depth);
	/* 0: not forked, 1: runs, 2: joined */
	uint8_t *state = mem_zalloc(threads);
	uint32_t held = 0;

	state[0] = 1;
	seen[NAMES_THREAD] = 1;
	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];
		enum names_kind kind = NAMES_KINDS;

		assert_true(e->thread < threads && state[e->thread] == 1);
		assert_true(e->place && e->place < names[NAMES_STRING].n);
		switch ((enum op)e->op) {
		case OP_BEGIN:
			assert_true(e->operand && e->operand < names[NAMES_STRING].n);
			depth[e->thread]++;
			break;
		case OP_END:
			assert_true(depth[e->thread]-- > 0);
			break;
		case OP_READ:
		case OP_WRITE:
			kind = NAMES_VAR;
			break;
		case OP_ACQUIRE:
			kind = NAMES_LOCK;
			assert_int_equal(holder[e->operand], 0);
			holder[e->operand] = e->thread + 1;
			held++;
			break;
		case OP_RELEASE:
			kind = NAMES_LOCK;
			assert_int_equal(holder[e->operand], e->thread + 1);
			holder[e->operand] = 0;
			held--;
			break;
		case OP_FORK:
			kind = NAMES_THREAD;
			assert_int_equal(state[e->operand]++, 0);
			break;
		case OP_JOIN:
			kind = NAMES_THREAD;
			assert_int_equal(state[e->operand]++, 1);
			assert_int_equal(depth[e->operand], 0);
			break;
		default:
			fail_msg("operation %d", e->op);
		}
		if (kind != NAMES_KINDS) {
			assert_true(e->operand <= seen[kind]);
			seen[kind] += e->operand == seen[kind];
		}
	}
	assert_int_equal(held, 0);
	assert_int_equal(depth[0], 0);
	for (uint32_t i = 1; i < threads; i++)
		assert_int_equal(state[i], 2);
	for (int k = 0; k < NAMES_STRING; k++)
		assert_int_equal(seen[k], names[k].n);
	mem_free(holder);
	mem_free(depth);
	mem_free(state);
}

struct graph {
	uint32_t n;
	uint32_t *of;    /* event -> transaction */
	uint32_t *first; /* transaction -> its first event */
	uint8_t *edge;   /* n * n */
};

static bool conflict(const struct event *a, const struct event *b)
{
	if (a->thread == b->thread)
		return true;
	if (a->op == OP_FORK && a->operand == b->thread)
		return true;
	if (b->op == OP_JOIN && b->operand == a->thread)
		return true;
	if (a->operand != b->operand)
		return false;
	if (op_is_access(a->op) && op_is_access(b->op))
		return a->op == OP_WRITE || b->op == OP_WRITE;
	return op_is_lock(a->op) && op_is_lock(b->op);
}

/* Builds the graph of transactions; with `data`, without lock operations. */
static struct graph graph_of(const struct trace *t, bool data)
{
	uint32_t threads = gen_names(t->g)->table[NAMES_THREAD].n;
	uint32_t *depth = mem_zalloc(threads * sizeof *depth);
	uint32_t *open = mem_zalloc(threads * sizeof *open);
	struct graph g = {0};

	g.of = mem_alloc(t->n * sizeof *g.of);
	g.first = mem_alloc(t->n * sizeof *g.first);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];

		if (!depth[e->thread]) {
			g.first[g.n] = i;
			open[e->thread] = g.n++;
		}
		g.of[i] = open[e->thread];
		depth[e->thread] += e->op == OP_BEGIN;
		depth[e->thread] -= e->op == OP_END;
	}
	g.edge = mem_zalloc((size_t)g.n * g.n);
	for (size_t j = 0; j < t->n; j++)
		for (size_t i = 0; i < j; i++)
			if (g.of[i] != g.of[j] && !(data && op_is_lock(t->ev[i].op)) &&
			    !(data && op_is_lock(t->ev[j].op)) && conflict(&t->ev[i], &t->ev[j]))
				g.edge[(size_t)g.of[i] * g.n + g.of[j]] = 1;
	mem_free(depth);
	mem_free(open);
	return g;
}

static void graph_free(struct graph *g)
{
	mem_free(g->of);
	mem_free(g->first);
	mem_free(g->edge);
}

/* Returns marks on what can be reached from a transaction; itself only if it is on a cycle. */
static uint8_t *reach(const struct graph *g, uint32_t from)
{
	uint8_t *seen = mem_zalloc(g->n);
	uint32_t *todo = mem_alloc((g->n + 1) * sizeof *todo), n = 0;

	todo[n++] = from;
	while (n) {
		const uint8_t *row = g->edge + (size_t)todo[--n] * g->n;

		for (uint32_t i = 0; i < g->n; i++) {
			if (row[i] && !seen[i]) {
				seen[i] = 1;
				todo[n++] = i;
			}
		}
	}
	mem_free(todo);
	return seen;
}

/* Removes transactions without predecessors; returns whether none is left. */
static bool acyclic(const struct graph *g, const uint8_t *without)
{
	uint32_t *in = mem_zalloc(g->n * sizeof *in);
	uint32_t *todo = mem_alloc(g->n * sizeof *todo), n = 0, left = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t j = 0; !without[i] && j < g->n; j++)
			in[j] += g->edge[(size_t)i * g->n + j];
		left += !without[i];
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (!without[i] && !in[i])
			todo[n++] = i;
	while (n) {
		const uint8_t *row = g->edge + (size_t)todo[--n] * g->n;

		left--;
		for (uint32_t j = 0; j < g->n; j++)
			if (row[j] && !without[j] && !--in[j])
				todo[n++] = j;
	}
	mem_free(in);
	mem_free(todo);
	return !left;
}

/*
 * Checks that the trace is serializable except for `planted` victims in the second
 * half, each on a cycle without lock operations.
 */
static void check_verdict(const struct trace *t, uint64_t planted)
{
	struct graph g = graph_of(t, false), data = graph_of(t, true);
	uint8_t *victim = mem_zalloc(g.n);
	uint8_t *none = mem_zalloc(g.n);
	uint64_t found = 0;

	for (uint32_t i = 0; i < g.n; i++) {
		const struct event *e = &t->ev[g.first[i]];
		uint8_t *after;

		if (e->op != OP_BEGIN || strcmp(string_of(t, e->operand), GEN_VICTIM))
			continue;
		assert_true(g.first[i] >= t->n / 2);
		after = reach(&data, i);
		assert_true(after[i]);
		mem_free(after);
		victim[i] = 1;
		found++;
	}
	assert_int_equal(found, planted);
	assert_true(acyclic(&g, victim));
	assert_int_equal(acyclic(&g, none), !planted);
	mem_free(victim);
	mem_free(none);
	graph_free(&g);
	graph_free(&data);
}

/* Calls a check with many shapes, and few and many threads, variables and locks. */
static const struct gen_options sizes[] = {
	{.events = 700},
	{.events = 1500},
	{.events = 600, .threads = 3, .vars = 1, .locks = 1},
	{.events = 601, .threads = 4, .vars = 7, .locks = 3},
	{.events = 602, .threads = 5, .vars = 3, .locks = 11},
	{.events = 643, .threads = 17, .vars = 40, .locks = 2},
};

static void each(void (*check)(const struct gen_options *o))
{
	for (const struct gen_shape *s = gen_shapes; s->name; s++) {
		if (s->blocks) /* may not be serializable */
			continue;
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			for (uint64_t seed = 1; seed <= 4; seed++) {
				struct gen_options o = sizes[i];

				o.shape = s->name;
				o.seed = seed;
				check(&o);
			}
		}
	}
}

static void check_plain(const struct gen_options *o)
{
	struct trace t = make(o);

	assert_int_equal(t.n, o->events);
	check_legal(&t);
	check_verdict(&t, 0);
	drop(&t);
}

static void test_serializable(void **state)
{
	(void)state;
	each(check_plain);
}

static void check_planted(const struct gen_options *o)
{
	static const uint64_t counts[] = {1, 2, 5};

	for (size_t i = 0; i < 3; i++) {
		struct gen_options p = *o;
		struct trace t;

		p.inject = counts[i];
		t = make(&p);
		assert_int_equal(t.n, o->events);
		check_legal(&t);
		check_verdict(&t, counts[i]);
		drop(&t);
	}
}

static void test_planted(void **state)
{
	(void)state;
	each(check_planted);
}

/* As many violations as fit: the end of the trace has nothing else. */
static void test_planted_many(void **state)
{
	struct gen_options o = {.shape = "locks", .events = 1434, .seed = 9, .inject = 50};
	struct trace t = make(&o);

	(void)state;
	assert_int_equal(t.n, o.events);
	check_legal(&t);
	check_verdict(&t, o.inject);
	drop(&t);
}

static bool same(const struct trace *a, const struct trace *b)
{
	return a->n == b->n && !memcmp(a->ev, b->ev, a->n * sizeof *a->ev);
}

static void test_deterministic(void **state)
{
	uint64_t hash = 14695981039346656037u;

	(void)state;
	for (const struct gen_shape *s = gen_shapes; s->name; s++) {
		struct gen_options o = {
			.shape = s->name, .events = 5000, .seed = 1, .inject = s->blocks ? 0 : 3};
		struct trace a = make(&o), b = make(&o), c;

		o.seed = 2;
		c = make(&o);
		assert_true(same(&a, &b));
		assert_false(same(&a, &c));
		for (int k = 0; k < NAMES_KINDS; k++) {
			const struct table *x = &gen_names(a.g)->table[k];
			const struct table *y = &gen_names(b.g)->table[k];

			assert_int_equal(x->n, y->n);
			for (uint32_t i = 0; i < x->n; i++)
				assert_string_equal(x->text[i], y->text[i]);
		}
		for (size_t i = 0; i < a.n; i++) {
			const struct event *e = &a.ev[i];

			hash = (hash ^ e->thread) * 1099511628211u;
			hash = (hash ^ e->op) * 1099511628211u;
			hash = (hash ^ e->operand) * 1099511628211u;
			hash = (hash ^ e->place) * 1099511628211u;
		}
		drop(&a);
		drop(&b);
		drop(&c);
	}
	/* The same on any machine; it changes only if a script changes. */
	if (hash != 0x73db0ec03cf84104u)
		fail_msg("hash %#llx", (unsigned long long)hash);
}

/* Counts the outermost blocks, and those during which another thread has an event. */
static void overlap(const struct trace *t, uint32_t *blocks, uint32_t *interleaved)
{
	struct graph g = graph_of(t, false);
	uint8_t *counted = mem_zalloc(g.n);

	*blocks = *interleaved = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t tx = g.of[i];

		*blocks += g.first[tx] == i && t->ev[i].op == OP_BEGIN;
		if (i && !counted[tx] && g.first[tx] != i && g.of[i - 1] != tx) {
			counted[tx] = 1;
			++*interleaved;
		}
	}
	mem_free(counted);
	graph_free(&g);
}

static void test_overlap(void **state)
{
	(void)state;
	for (const struct gen_shape *s = gen_shapes; s->name; s++) {
		struct gen_options o = {.shape = s->name, .events = 3000, .seed = 3};
		struct trace t = make(&o);
		uint32_t blocks, interleaved;

		overlap(&t, &blocks, &interleaved);
		assert_true(blocks > 20);
		assert_true(interleaved > blocks / 10 * 8);
		drop(&t);
	}
}

/* Nearly every event comes after the begin of the open transaction, which ends last. */
static void test_open(void **state)
{
	static const char *const shapes[] = {"open", "many-locks-open"};

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct gen_options o = {.shape = shapes[k], .events = 3000, .seed = 5};
		struct trace t = make(&o);
		struct graph g = graph_of(&t, false);
		uint32_t begin = 0, after = 0, inside = 0;
		uint8_t *seen;

		while (t.ev[begin].op != OP_BEGIN)
			begin++;
		assert_int_equal(t.ev[begin].thread, 1);
		seen = reach(&g, g.of[begin]);
		for (uint32_t i = 0; i < g.n; i++)
			after += seen[i];
		assert_true(after > g.n / 10 * 9);
		for (uint32_t i = begin; i < t.n; i++)
			inside += t.ev[i].thread == 1;
		assert_true(inside > 10);
		for (uint32_t i = (uint32_t)t.n - 1; t.ev[i].thread != 1; i--)
			assert_int_equal(t.ev[i].op, OP_JOIN);
		mem_free(seen);
		graph_free(&g);
		drop(&t);
	}
}

/* The smallest traces: nothing but the start and the end, and a little more. */
static void test_smallest(void **state)
{
	(void)state;
	for (const struct gen_shape *s = gen_shapes; s->name; s++) {
		for (uint64_t more = 0; more < 40; more++) {
			uint64_t least = s->shared + (s->open ? 5 : 0);
			struct gen_options o = {.shape = s->name,
						.events = least + more,
						.threads = s->open ? 2 : 1,
						.locks = 1};
			struct trace t;

			t = make(&o);
			assert_int_equal(t.n, o.events);
			check_legal(&t);
			if (!s->blocks)
				check_verdict(&t, 0);
			drop(&t);
		}
	}
}

/* About as many blocks as the shape has, however many events there are. */
static void test_blocks(void **state)
{
	(void)state;
	for (const struct gen_shape *s = gen_shapes; s->name; s++) {
		for (uint64_t events = 20000; s->blocks && events <= 320000; events *= 4) {
			struct gen_options o = {.shape = s->name, .events = events, .seed = 2};
			struct trace t = make(&o);
			uint32_t begun = 0;

			assert_int_equal(t.n, events);
			check_legal(&t);
			for (size_t i = 0; i < t.n; i++)
				begun += t.ev[i].op == OP_BEGIN;
			assert_in_range(begun, s->blocks * 3 / 4, s->blocks * 5 / 4);
			drop(&t);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_serializable), cmocka_unit_test(test_planted),
		cmocka_unit_test(test_planted_many), cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_overlap),      cmocka_unit_test(test_open),
		cmocka_unit_test(test_smallest),     cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
