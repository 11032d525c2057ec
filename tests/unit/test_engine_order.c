/*
 * Compares the order of transactions (engine/precise/order.h) with the graph that
 * it represents: the model keeps every edge and decides reachability by search.
 * Threads come and go, so that slots are reused, and indices run out early, so
 * that threads move to other slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/precise/order.h"

#include "base/banned.h"

enum { THREADS = 40, NODES = 6000, STEPS = 3000 };

struct node {
	uint32_t *out;
	size_t n, cap;
};

struct model {
	struct node node[NODES];
	uint32_t nnodes;
	bool seen[NODES];
};

/* What an engine would remember for a variable: a step of the order, and its node in the model. */
struct mark {
	step at;
	uint32_t node;
};

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

static uint32_t add_node(struct model *m, uint32_t before)
{
	uint32_t n = m->nnodes++;

	assert_true(n < NODES);
	if (before != UINT32_MAX) {
		struct node *b = &m->node[before];

		MEM_GROW(b->out, b->cap, b->n + 1);
		b->out[b->n++] = n;
	}
	return n;
}

static bool has_path(struct model *m, uint32_t from, uint32_t to)
{
	uint32_t *stack = mem_alloc(NODES * sizeof *stack), n = 0;
	bool found = false;

	memset(m->seen, 0, sizeof m->seen);
	stack[n++] = from;
	m->seen[from] = true;
	while (n && !found) {
		struct node *at = &m->node[stack[--n]];

		found = at == &m->node[to];
		for (size_t i = 0; i < at->n; i++) {
			if (m->seen[at->out[i]])
				continue;
			m->seen[at->out[i]] = true;
			stack[n++] = at->out[i];
		}
	}
	mem_free(stack);
	return found;
}

/*
 * Compares one random history; returns how many edges closed a cycle. `early`: as in the runtime,
 * where the slots of ended threads are reused early and threads have no numbers.
 */
static uint32_t compare_history(uint64_t s, uint32_t alive, bool early, uint32_t *slots)
{
	struct model *m = mem_zalloc(sizeof *m);
	struct mark marks[12] = {{0}};
	uint32_t node[THREADS], slot_of[THREADS], cycles = 0;
	bool open[THREADS] = {false}, dead[THREADS] = {false};
	struct order o;

	seed = s;
	order_init(&o, true);
	if (early) {
		order_reserve(&o, 4 * THREADS);
		o.fixed = o.early = true;
	} else {
		o.last_index = 12;
		o.take_idle = 8;
		order_threads(&o, THREADS);
	}
	memset(node, 0xff, sizeof node);
	memset(slot_of, 0xff, sizeof slot_of);
	for (int i = 0; i < STEPS; i++) {
		uint32_t t = random_below(THREADS), slot;
		struct mark *mark = &marks[random_below(12)];

		/* Only some threads run at a time; the others are idle or have ended. */
		if (dead[t] || (t + (uint32_t)i / 200) % THREADS >= alive)
			continue;
		if (!early)
			slot_of[t] = order_slot_of(&o, t);
		else if (slot_of[t] == ORDER_NO_SLOT)
			slot_of[t] = order_enter_slot(&o);
		slot = slot_of[t];
		switch (random_below(8)) {
		case 0:
			if (!open[t]) {
				slot_of[t] = slot = order_begin(&o, slot);
				node[t] = add_node(m, node[t]);
				open[t] = true;
			}
			break;
		case 1:
		case 2:
			if (open[t]) {
				order_end(&o, slot);
				open[t] = false;
			}
			break;
		case 3:
			if (early && random_below(4) == 0) {
				/* A later step of this number is of another thread. */
				order_leave_slot(&o, slot);
				order_leave_slot(&o, slot);
				slot_of[t] = ORDER_NO_SLOT;
				node[t] = UINT32_MAX;
				open[t] = false;
				continue;
			}
			if (!early && random_below(40) == 0) {
				order_leave(&o, t);
				dead[t] = true;
				continue;
			}
			break;
		default:
			/* An operation outside blocks is a node by itself. */
			if (!open[t])
				node[t] = add_node(m, node[t]);
			if (!mark->at || order_knows(&o, slot, mark->at)) {
				if (mark->at) {
					assert_false(open[t] && mark->node != node[t] &&
						     has_path(m, node[t], mark->node));
					/* The order has the edge already: add it to the model too.
					 */
					struct node *from = &m->node[mark->node];

					if (mark->node != node[t]) {
						MEM_GROW(from->out, from->cap, from->n + 1);
						from->out[from->n++] = node[t];
					}
				}
				break;
			}
			if (order_add(&o, slot, mark->at, 0, 0) == ORDER_CYCLE) {
				assert_true(open[t] && has_path(m, node[t], mark->node));
				cycles++;
			} else {
				struct node *from = &m->node[mark->node];

				assert_false(has_path(m, node[t], mark->node));
				MEM_GROW(from->out, from->cap, from->n + 1);
				from->out[from->n++] = node[t];
			}
			break;
		}
		if (node[t] != UINT32_MAX && random_below(2))
			*mark = (struct mark){o.slot[early ? slot : order_slot_of(&o, t)].now,
					      node[t]};
	}
	*slots = o.n;
	order_free(&o);
	for (uint32_t i = 0; i < NODES; i++)
		mem_free(m->node[i].out);
	mem_free(m);
	return cycles;
}

static void test_against_graph(void **state)
{
	uint32_t cycles = 0, most = 0, slots;

	(void)state;
	for (uint64_t s = 1; s <= 150; s++) {
		cycles += compare_history(s, 2 + (uint32_t)(s % 12), false, &slots);
		most = slots > most ? slots : most;
	}
	assert_true(cycles > 1000);
	assert_true(most > 8); /* it had to grow */
}

static void test_early_against_graph(void **state)
{
	uint32_t cycles = 0, slots;

	(void)state;
	for (uint64_t s = 1; s <= 150; s++) {
		cycles += compare_history(s, 2 + (uint32_t)(s % 12), true, &slots);
		assert_true(slots <= 4 * THREADS);
	}
	assert_true(cycles > 1000);
}

/* A hundred thousand threads, few of them at a time, need only a few slots. */
static void test_slots_come_back(void **state)
{
	enum { MANY = 100000 };
	struct order o;

	(void)state;
	order_init(&o, false);
	order_threads(&o, MANY);
	for (uint32_t t = 0; t < MANY; t++) {
		uint32_t slot = order_slot_of(&o, t), before;

		slot = order_begin(&o, slot);
		if (t) {
			before = order_slot_of(&o, t - 1);
			order_add(&o, slot, o.slot[before].now, 0, 0);
			order_end(&o, before);
			order_leave(&o, t - 1);
		}
	}
	assert_true(o.cap <= 64);
	order_free(&o);
}

/* The same if the ends of threads are not announced: the slots of idle threads are reused too. */
static void test_idle_slots_come_back(void **state)
{
	enum { MANY = 20000 };
	struct order o;

	(void)state;
	order_init(&o, false);
	order_threads(&o, MANY);
	for (uint32_t t = 0; t < MANY; t++) {
		uint32_t slot = order_begin(&o, order_slot_of(&o, t));

		order_end(&o, slot);
	}
	assert_true(o.cap <= 512);
	order_free(&o);
}

/* If slots are expensive, no more are used than are needed to distinguish the threads of a time. */
static void test_early_slots_come_back(void **state)
{
	struct order o;

	(void)state;
	order_init(&o, false);
	order_reserve(&o, 1 << 10);
	o.fixed = o.early = true;
	for (uint32_t i = 0, before = ORDER_NO_SLOT; i < 100000; i++) {
		uint32_t slot = order_begin(&o, order_enter_slot(&o));

		if (before != ORDER_NO_SLOT) {
			order_add(&o, slot, o.slot[before].now, 0, 0);
			order_leave_slot(&o, before);
		}
		before = slot;
	}
	assert_true(o.n <= 2);
	order_free(&o);
}

/*
 * A thread with an open transaction reaches all threads that come and go meanwhile; when it ends,
 * their slots are reusable at once.
 */
static void test_reached_slots_come_back(void **state)
{
	enum { REACHED = 500 };
	struct order o;
	uint32_t first, n;

	(void)state;
	order_init(&o, false);
	order_reserve(&o, 1 << 10);
	o.fixed = o.early = true;
	first = order_begin(&o, order_enter_slot(&o));
	for (uint32_t i = 0; i < REACHED; i++) {
		uint32_t slot = order_enter_slot(&o);

		order_add(&o, slot, o.slot[first].now, 0, 0);
		order_leave_slot(&o, slot);
	}
	assert_int_equal(o.n, 1 + REACHED);
	order_end(&o, first);
	order_leave_slot(&o, first);
	n = o.n;
	for (uint32_t i = 0; i < 100 * REACHED; i++) {
		uint32_t slot = order_begin(&o, order_enter_slot(&o));

		order_end(&o, slot);
		order_leave_slot(&o, slot);
	}
	assert_int_equal(o.n, n);
	order_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_graph),
		cmocka_unit_test(test_early_against_graph),
		cmocka_unit_test(test_slots_come_back),
		cmocka_unit_test(test_idle_slots_come_back),
		cmocka_unit_test(test_early_slots_come_back),
		cmocka_unit_test(test_reached_slots_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
