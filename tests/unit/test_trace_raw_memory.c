/*
 * Compares raw_memory.c with a twin that remembers every byte separately: two
 * accesses have a variable in common exactly if they have bytes in common that were
 * not forgotten in between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/raw_memory.h"
#include "trace_fixture.h"

/* A little more than two pages, across page boundaries. */
#define BASE 0x10ff0ull
enum { BYTES = 8400, OPS_MAX = 300, THREADS = 3 };

enum what { ACCESS, FORGET, ALLOC, FREE };
struct step {
	enum what what;
	uint32_t at, size, thread;
};

/* The twin: the life of each byte, which changes when it is forgotten, and its threads. */
struct twin {
	uint32_t life[BYTES];
	uint32_t touched[BYTES]; /* a bit for each thread */
	uint32_t lives;
	/* The accesses so far, each with the lives of its bytes at that time. */
	struct {
		const struct step *step;
		uint32_t *life;
		uint32_t *var; /* the variable of each byte, as raw_memory.c says; 0: none */
	} seen[OPS_MAX];
	size_t nseen;
};

static void twin_forget(struct twin *w, uint32_t at, uint32_t size)
{
	w->lives++;
	for (uint32_t i = at; i < at + size && i < BYTES; i++)
		w->life[i] = w->lives;
}

/* Plays the steps; fails if code and twin differ. */
static void play(struct raw_memory *m, const struct step *step, size_t n)
{
	struct twin *w = mem_zalloc(sizeof *w);
	uint32_t next = 0, alloc_size[BYTES / 16 + 1] = {0};
	static uint64_t size_of[OPS_MAX * BYTES]; /* of each variable: must not change */

	for (size_t i = 0; i < n; i++)
		for (uint32_t b = 0; step[i].what == ACCESS && b < step[i].size; b++)
			w->touched[step[i].at + b] |= 1u << step[i].thread;
	for (size_t i = 0; i < n; i++) {
		const struct step *s = &step[i];
		uint64_t address = BASE + s->at, size = s->size, start, bytes, end = address;
		uint32_t *var, *life;

		switch (s->what) {
		case FORGET:
			raw_memory_forget(m, address, size);
			twin_forget(w, s->at, s->size);
			continue;
		case ALLOC:
			raw_memory_alloc(m, address, size, 7);
			alloc_size[s->at / 16] = s->size;
			twin_forget(w, s->at, s->size);
			assert_non_null(raw_memory_allocation_at(m, address));
			assert_int_equal(raw_memory_allocation_at(m, address + size - 1)->address,
					 address);
			continue;
		case FREE:
			raw_memory_dealloc(m, address);
			twin_forget(w, s->at, alloc_size[s->at / 16]);
			alloc_size[s->at / 16] = 0;
			continue;
		default:
			break;
		}
		var = mem_zalloc(s->size * sizeof *var);
		life = mem_zalloc(s->size * sizeof *life);
		while (size) {
			uint32_t *number =
				raw_memory_next_variable(m, &address, &size, &start, &bytes);

			assert_int_equal(start, end);
			assert_true(bytes > 0);
			end += bytes;
			assert_int_equal(address, end);
			if (number && !*number)
				size_of[ *number = ++next] = bytes;
			if (number)
				assert_int_equal(size_of[*number], bytes);
			for (uint64_t b = start - BASE; b < end - BASE; b++) {
				uint32_t who = w->touched[b];

				/* Accessed by several threads: it must have a variable. */
				if (who & (who - 1))
					assert_non_null(number);
				var[b - s->at] = number ? *number : 0;
				life[b - s->at] = w->life[b];
			}
		}
		assert_int_equal(end, BASE + s->at + s->size);
		w->seen[w->nseen].step = s;
		w->seen[w->nseen].life = life;
		w->seen[w->nseen++].var = var;
	}
	for (size_t i = 0; i < w->nseen; i++)
		for (size_t k = 0; k < i; k++) {
			const struct step *x = w->seen[i].step, *y = w->seen[k].step;
			bool bytes = false, variables = false;

			for (uint32_t b = 0; b < x->size; b++) {
				uint32_t at = x->at + b - y->at, v = w->seen[i].var[b];

				if (at < y->size && w->seen[k].life[at] == w->seen[i].life[b] &&
				    x->thread != y->thread)
					bytes = true;
				if (at < y->size && v)
					assert_int_equal(v == w->seen[k].var[at],
							 w->seen[k].life[at] == w->seen[i].life[b]);
				for (uint32_t c = 0; v && x->thread != y->thread && c < y->size;
				     c++)
					variables |= v == w->seen[k].var[c];
			}
			assert_int_equal(bytes, variables);
		}
	for (size_t i = 0; i < w->nseen; i++) {
		mem_free(w->seen[i].life);
		mem_free(w->seen[i].var);
	}
	mem_free(w);
}

/* Makes random steps; no access crosses the bounds of an allocation or of forgotten memory. */
static size_t make_steps(struct rng *r, struct step *step)
{
	uint32_t size_of[BYTES / 16 + 1] = {0}, edge = 256;
	size_t n = 20 + rng_below(r, 60);

	for (size_t i = 0; i < n; i++) {
		struct step *s = &step[i];
		uint32_t part = rng_below(r, BYTES / edge), room = edge;

		*s = (struct step){.thread = rng_below(r, THREADS), .at = part * edge};
		switch (rng_below(r, 8)) {
		case 0:
			s->what = FORGET;
			s->size = edge * (1 + rng_below(r, 3));
			if (s->at + s->size > BYTES / edge * edge)
				s->size = edge;
			/* Allocations in there are forgotten as a whole. */
			break;
		case 1:
			s->what = size_of[s->at / 16] ? FREE : ALLOC;
			s->size = s->what == ALLOC ? 1 + rng_below(r, edge) : 0;
			size_of[s->at / 16] = s->what == ALLOC ? s->size : 0;
			break;
		default:
			if (size_of[s->at / 16])
				room = size_of[s->at / 16];
			s->size = 1 + rng_below(r, rng_below(r, 3) && room > 8 ? 8 : room);
			s->at += rng_below(r, room - s->size + 1);
		}
	}
	return n;
}

static void same_as_twin(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct rng r = {seed};
		struct step step[OPS_MAX];
		size_t n = make_steps(&r, step);
		struct raw_memory *m = raw_memory_new(1000);

		for (size_t i = 0; i < n; i++)
			if (step[i].what == ACCESS)
				raw_memory_add_access(m, BASE + step[i].at, step[i].size,
						      step[i].thread);
			else if (step[i].what == ALLOC) {
				raw_memory_add_boundary(m, BASE + step[i].at);
				raw_memory_add_boundary(m, BASE + step[i].at + step[i].size);
			}
		raw_memory_finish_accesses(m);
		play(m, step, n);
		/* And once more from the beginning. */
		raw_memory_restart(m);
		play(m, step, n);
		raw_memory_free(m);
	}
}

static void ends_of_memory(void **state)
{
	static const uint64_t at[] = {0, 0x7ffffffffff0, 0x7fffffffffff, 0xffffffffffff};
	struct raw_memory *m = raw_memory_new(64);

	(void)state;
	for (size_t i = 0; i < N(at); i++)
		for (uint32_t t = 0; t < 2; t++)
			raw_memory_add_access(m, at[i], t ? 40 : 3, t);
	raw_memory_finish_accesses(m);
	for (size_t i = 0; i < N(at); i++) {
		uint64_t address = at[i], size = 40, start, bytes;
		uint32_t *v = raw_memory_next_variable(m, &address, &size, &start, &bytes);

		assert_non_null(v);
		*v = 5;
		while (size)
			raw_memory_next_variable(m, &address, &size, &start, &bytes);
		assert_true(address <= RAW_MEMORY_LIMIT);
	}
	raw_memory_free(m);
}

/* A huge range takes no more pages than allowed. */
static void too_large(void **state)
{
	struct raw_memory *m = raw_memory_new(16);
	uint64_t address = 0x1000, size = UINT64_MAX, start, bytes, pages = 0;

	(void)state;
	raw_memory_add_access(m, 0x1000, UINT64_MAX, 0);
	raw_memory_add_access(m, 0x1000, UINT64_MAX, 1);
	assert_true(raw_memory_lost_pages(m) > 1ull << 34);
	raw_memory_finish_accesses(m);
	while (size)
		pages += raw_memory_next_variable(m, &address, &size, &start, &bytes) != NULL;
	assert_int_equal(pages, 16);
	raw_memory_forget(m, 0, UINT64_MAX);
	raw_memory_alloc(m, 0x1000, UINT64_MAX, 0);
	assert_non_null(raw_memory_allocation_at(m, 0x2000));
	raw_memory_free(m);
}

static void access_not_seen_before(void **state)
{
	struct raw_memory *m = raw_memory_new(16);
	uint64_t address = 0x1f00, size = 8, start, bytes;
	uint32_t *v;

	(void)state;
	raw_memory_add_access(m, 0x1000, 0x1000, 0);
	raw_memory_add_access(m, 0x1000, 0x1000, 1);
	raw_memory_finish_accesses(m);
	/* The access gets the variable that it lies in. */
	v = raw_memory_next_variable(m, &address, &size, &start, &bytes);
	assert_non_null(v);
	*v = 3;
	address = 0x1000;
	size = 0x1000;
	assert_ptr_equal(raw_memory_next_variable(m, &address, &size, &start, &bytes), v);
	raw_memory_free(m);
}

/* Compares stacks with a search through all live ones. */
static void stacks(void **state)
{
	enum { GRAIN = 4096, PLACES = 64 };

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct raw_memory *m = raw_memory_new(16);
		struct rng r = {seed};
		uint32_t at[10], size[10];
		bool live[10] = {0};

		for (int i = 0; i < 60; i++) {
			uint32_t t = rng_below(&r, 10);
			bool free = true;

			if (live[t]) {
				raw_memory_end_stack(m, at[t] * GRAIN, size[t] * GRAIN, t);
				live[t] = false;
			} else {
				at[t] = rng_below(&r, PLACES);
				size[t] = 1 + rng_below(&r, 6);
				for (int k = 0; k < 10; k++)
					free &= !live[k] || at[k] >= at[t] + size[t] ||
						at[t] >= at[k] + size[k];
				if (!free)
					continue;
				raw_memory_begin_stack(m, at[t] * GRAIN, size[t] * GRAIN, t);
				live[t] = true;
			}
			for (uint32_t p = 0; p < PLACES + 8; p++) {
				uint32_t who = RAW_NO_STACK;

				for (uint32_t k = 0; k < 10; k++)
					if (live[k] && p - at[k] < size[k])
						who = k;
				assert_int_equal(raw_memory_stack_at(m, p * GRAIN + 5), who);
			}
		}
		raw_memory_free(m);
	}
}

/* The last stack at an address counts; an older, larger one keeps its upper part. */
static void stacks_overlap(void **state)
{
	struct raw_memory *m = raw_memory_new(16);

	(void)state;
	raw_memory_begin_stack(m, 0x10000, 0x10000, 0);
	raw_memory_begin_stack(m, 0x14000, 0x1000, 1);
	assert_int_equal(raw_memory_stack_at(m, 0x14fff), 1);
	assert_int_equal(raw_memory_stack_at(m, 0x15000), 0);
	raw_memory_begin_stack(m, 0x1f000, 0x2000, 2);
	assert_int_equal(raw_memory_stack_at(m, 0x1efff), 0);
	assert_int_equal(raw_memory_stack_at(m, 0x1f000), 2);
	raw_memory_begin_stack(m, 0, UINT64_MAX, 3);
	assert_int_equal(raw_memory_stack_at(m, 0x15000), 3);
	raw_memory_end_stack(m, 0x10000, 0x10000, 0);
	assert_int_equal(raw_memory_stack_at(m, 0x15000), 3);
	raw_memory_restart(m);
	assert_int_equal(raw_memory_stack_at(m, 0x15000), RAW_NO_STACK);
	raw_memory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_twin), cmocka_unit_test(ends_of_memory),
		cmocka_unit_test(too_large),    cmocka_unit_test(access_not_seen_before),
		cmocka_unit_test(stacks),       cmocka_unit_test(stacks_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
