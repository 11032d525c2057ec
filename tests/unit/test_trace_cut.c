/*
 * A trace that is cut off at any byte gives the events before the cut and one
 * sentence. A trace with any byte changed never gives other events without an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace_fixture.h"

#include "base/banned.h"

/* A trace with every kind of event, and new names until its end. */
static void make_trace(struct trace *t, size_t n)
{
	struct rng rng = {n};

	trace_init(t);
	for (size_t i = 0; i < n; i++) {
		char thread[32], name[32], place[32];
		const char *operand = name;
		enum op op = OP_READ + rng_below(&rng, 3);

		snprintf(thread, sizeof thread, "T%u", rng_below(&rng, 4));
		snprintf(name, sizeof name, "variable_%zu",
			 (size_t)rng_below(&rng, (uint32_t)(i / 2 + 1)));
		snprintf(place, sizeof place, rng_below(&rng, 3) ? "a.c:%zu" : "%zu", i);
		if (i % 11 == 5) {
			op = OP_BEGIN;
			operand = i % 2 ? "label" : "";
		} else if (i % 17 == 3) {
			op = OP_BARRIER;
		}
		trace_add(t, trace_event(t, thread, op, operand, i % 7 ? place : ""));
	}
}

/* Returns the length of the first n lines of `all`. */
static size_t prefix(const struct str *all, size_t n)
{
	const char *p = all->s;

	while (n--)
		p = (const char *)memchr(p, '\n', (size_t)(all->s + all->n - p)) + 1;
	return (size_t)(p - all->s);
}

static void expect_prefix(const struct str *all, const struct str *got, size_t n)
{
	assert_int_equal(got->n, prefix(all, n));
	assert_memory_equal(got->s, all->s, got->n);
}

/* Returns the number of whole lines before `cut`, and sets where the last of them ends. */
static uint64_t lines_before(const struct str *file, size_t cut, size_t *last)
{
	uint64_t lines = 0;

	*last = 0;
	for (size_t i = 0; i < cut; i++)
		if (file->s[i] == '\n') {
			lines++;
			*last = i + 1;
		}
	return lines;
}

/*
 * If a cut leaves half a line, that may still be a valid line, with a shorter place
 * or without its label. The reader cannot notice that, and takes it as it is.
 */
static void expect_half_line(const struct str *all, const struct str *got, size_t whole)
{
	size_t at = prefix(all, whole), end = prefix(all, whole + 1);
	const char *want = all->s + at, *have = got->s + at;
	const char *want_place = memrchr(want, '|', end - at);
	const char *have_place = memrchr(have, '|', got->n - at);

	assert_memory_equal(got->s, all->s, at);
	/* Thread and operation, up to the parenthesis. */
	assert_memory_equal(have, want, (size_t)(strchr(want, '(') - want));
	if (have_place - have == want_place - want)
		assert_memory_equal(have, want, (size_t)(want_place - want));
	else
		assert_memory_equal(strchr(have, '|'), "|begin()|", 9);
	/* The place, without the newline, is the beginning of the original place. */
	assert_memory_equal(have_place, want_place, (size_t)(got->s + got->n - 1 - have_place));
}

static void test_cut_std(void **state)
{
	const char *path = fixture_path("cut.std");
	struct str all = STR_INIT, got = STR_INIT, file = STR_INIT;
	struct trace t;

	(void)state;
	make_trace(&t, 300);
	describe_all(&t, &all);
	trace_write(&t, path, TRACE_STD, 0);
	slurp(path, &file);
	for (size_t cut = file.n + 1; cut-- > 0;) {
		size_t last, whole, events;
		char where[300];
		struct err err;

		assert_int_equal(truncate(path, (off_t)cut), 0);
		whole = lines_before(&file, cut, &last);
		events = read_all(path, (struct reader_options){0}, &got, &err);
		snprintf(where, sizeof where, "%s:%zu: ", path, whole + 1);
		if (last == cut) {
			assert_string_equal(err.text, "");
			expect_prefix(&all, &got, whole);
		} else if (events == whole) {
			assert_memory_equal(err.text, where, strlen(where));
			expect_prefix(&all, &got, whole);
		} else {
			assert_int_equal(events, whole + 1);
			assert_string_equal(err.text, "");
			expect_half_line(&all, &got, whole);
		}
	}
	unlink(path);
	str_free(&all);
	str_free(&got);
	str_free(&file);
	trace_free(&t);
}

/* For a format with an end mark: a cut is always an error. */
static void cut_each(const char *path, const struct str *all, size_t n, size_t step)
{
	struct reader_options options = {0};
	struct str got = STR_INIT, file = STR_INIT;
	struct err err;
	size_t events;

	slurp(path, &file);
	assert_int_equal(read_all(path, options, &got, &err), n);
	assert_string_equal(err.text, "");
	expect_prefix(all, &got, n);
	for (size_t cut = file.n - 1; cut; cut -= cut < step ? cut : step) {
		assert_int_equal(truncate(path, (off_t)cut), 0);
		events = read_all(path, options, &got, &err);
		assert_true(strlen(err.text) > strlen(path) + 10);
		expect_prefix(all, &got, events);
	}
	/* An empty file is an STD trace without events, whatever its name. */
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(read_all(path, options, &got, &err), 0);
	assert_string_equal(err.text, "");
	unlink(path);
	str_free(&got);
	str_free(&file);
}

static void test_cut_others(void **state)
{
	static const struct {
		const char *name;
		enum trace_format format;
		size_t events, step;
	} files[] = {
		{"cut.atrace", TRACE_ATRACE, 300, 1},
		{"cut.std.zst", TRACE_STD, 300, 1},
		{"cut.atrace.zst", TRACE_ATRACE, 300, 1},
		{"cut.std.zst", TRACE_STD, 20000, 499},
		{"cut.atrace", TRACE_ATRACE, 40000, 1999},
		{"cut.atrace.zst", TRACE_ATRACE, 40000, 1999},
	};

	(void)state;
	for (size_t i = 0; i < N(files); i++) {
		const char *path = fixture_path(files[i].name);
		struct str all = STR_INIT;
		struct trace t;

		make_trace(&t, files[i].events);
		describe_all(&t, &all);
		trace_write(&t, path, files[i].format, 0);
		cut_each(path, &all, t.n, files[i].step);
		str_free(&all);
		trace_free(&t);
	}
}

/*
 * An .atrace that is written directly from atrace_format.h, without the writer:
 * small chunks, and names just before the events that need them.
 */
struct hand {
	struct str file;
	size_t ends[64],
		events[64]; /* the ends of chunks of events, and the number of events up to each */
	size_t n;
};

static void put_names(struct hand *h, const struct names *names, uint32_t kind, uint32_t first,
		      uint32_t last)
{
	const struct table *t = &names->table[kind];
	struct str p = STR_INIT;

	put_u32(&p, kind);
	for (uint32_t i = first; i < last; i++)
		put_u32(&p, t->len[i]);
	for (uint32_t i = first; i < last; i++)
		str_add(&p, t->text[i]);
	put_chunk(&h->file, CHUNK_NAME, 0, last - first, &p);
	str_free(&p);
}

static void put_events(struct hand *h, const struct event *ev, uint32_t n)
{
	struct str p = STR_INIT;

	str_addn(&p, "\4\4\4\0", 4);
	for (uint32_t i = 0; i < n; i++)
		str_addc(&p, (char)ev[i].op);
	for (uint32_t i = 0; i < n; i++)
		put_u32(&p, ev[i].thread);
	for (uint32_t i = 0; i < n; i++)
		put_u32(&p, ev[i].operand);
	for (uint32_t i = 0; i < n; i++)
		put_u32(&p, ev[i].place);
	put_chunk(&h->file, CHUNK_EVNT, 0, n, &p);
	h->ends[h->n] = h->file.n;
	h->events[h->n] = (h->n ? h->events[h->n - 1] : 0) + n;
	h->n++;
	str_free(&p);
}

static void write_by_hand(const struct trace *t, struct hand *h)
{
	uint32_t have[NAMES_KINDS] = {[NAMES_STRING] = 1};
	uint64_t events = t->n;
	struct str p = STR_INIT;

	*h = (struct hand){.file = STR_INIT};
	put_header(&h->file);
	for (size_t i = 0; i < t->n; i += 20) {
		uint32_t n = t->n - i < 20 ? (uint32_t)(t->n - i) : 20;

		for (uint32_t k = 0; k < NAMES_KINDS; k++) {
			uint32_t want = (uint32_t)((i + n) * t->names.table[k].n / t->n);

			/* All threads at once; names that no event needs yet are allowed. */
			want = k == NAMES_VAR || k == NAMES_STRING ? want : t->names.table[k].n;
			for (uint32_t e = 0; e < n; e++) {
				const struct event *ev = &t->ev[i + e];

				if (k == NAMES_STRING && !(ev->place & STRREF_NUMBER) &&
				    ev->place >= want)
					want = ev->place + 1;
				if (k == NAMES_STRING && ev->op == OP_BEGIN && ev->operand >= want)
					want = ev->operand + 1;
				if (k == NAMES_VAR && op_is_access(ev->op) && ev->operand >= want)
					want = ev->operand + 1;
			}
			if (have[k] < want)
				put_names(h, &t->names, k, have[k], want);
			have[k] = want > have[k] ? want : have[k];
		}
		put_events(h, t->ev + i, n);
		str_add(&p, "an unknown chunk may be skipped");
		put_chunk(&h->file, CHUNK_TYPE('X', 'T', 'R', 'A'), CHUNK_OPTIONAL, 7, &p);
		str_reset(&p);
	}
	str_addn(&p, (const char *)&events, 8);
	put_chunk(&h->file, CHUNK_DONE, 0, 0, &p);
	str_free(&p);
}

/* Every whole chunk of events before the cut is delivered. */
static void test_cut_between_chunks(void **state)
{
	const char *path = fixture_path("hand.atrace");
	struct str all = STR_INIT, got = STR_INIT;
	struct trace t;
	struct hand h;
	struct err err;

	(void)state;
	make_trace(&t, 300);
	describe_all(&t, &all);
	write_by_hand(&t, &h);
	assert_int_equal(h.n, 15);
	spit(path, h.file.s, h.file.n);
	assert_int_equal(read_all(path, (struct reader_options){0}, &got, &err), t.n);
	assert_string_equal(err.text, "");
	expect_prefix(&all, &got, t.n);
	for (size_t cut = h.file.n - 1; cut; cut--) {
		char where[300];
		size_t want = 0;

		for (size_t i = 0; i < h.n && h.ends[i] <= cut; i++)
			want = h.events[i];
		assert_int_equal(truncate(path, (off_t)cut), 0);
		assert_int_equal(read_all(path, (struct reader_options){0}, &got, &err), want);
		expect_prefix(&all, &got, want);
		assert_true(err_is_set(&err));
		snprintf(where, sizeof where, "%s: offset %zu: the trace is cut off ", path, cut);
		assert_memory_equal(err.text, where, strlen(where));
	}
	unlink(path);
	str_free(&all);
	str_free(&got);
	str_free(&h.file);
	trace_free(&t);
}

/* Changes every byte, one at a time, in three ways. */
static void flip_each(const char *path, const struct str *all, size_t n, bool in_order,
		      size_t silent_max)
{
	struct str got = STR_INIT, file = STR_INIT;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	size_t silent = 0;

	assert_true(fd >= 0);
	slurp(path, &file);
	for (size_t i = 0; i < file.n; i++) {
		static const char flips[] = {0x01, 0x40, '\xff'};

		for (size_t k = 0; k < sizeof flips; k++) {
			char c = (char)(file.s[i] ^ flips[k]);
			struct err err;
			size_t events;

			assert_int_equal(pwrite(fd, &c, 1, (off_t)i), 1);
			events = read_all(path, (struct reader_options){0}, &got, &err);
			if (!err_is_set(&err))
				assert_int_equal(events, n);
			/* A zstd frame is checked only at its end, a chunk before it is used. */
			if (!err_is_set(&err) || in_order)
				expect_prefix(all, &got, events);
			silent += !err_is_set(&err);
		}
		assert_int_equal(pwrite(fd, &file.s[i], 1, (off_t)i), 1);
	}
	if (silent > silent_max)
		fail_msg("%zu changes went unnoticed", silent);
	close(fd);
	unlink(path);
	str_free(&got);
	str_free(&file);
}

static void test_flip(void **state)
{
	struct str all = STR_INIT;
	struct trace t;
	struct hand h;
	const char *path;

	(void)state;
	make_trace(&t, 100);
	describe_all(&t, &all);
	path = fixture_path("flip.atrace");
	trace_write(&t, path, TRACE_ATRACE, 0);
	flip_each(path, &all, t.n, true, 0);
	write_by_hand(&t, &h);
	spit(path, h.file.s, h.file.n);
	flip_each(path, &all, t.n, true, 0);
	/* Some bits of a zstd frame's header are not used. */
	path = fixture_path("flip.std.zst");
	trace_write(&t, path, TRACE_STD, 0);
	flip_each(path, &all, t.n, false, 12);
	path = fixture_path("flip.atrace.zst");
	trace_write(&t, path, TRACE_ATRACE, 0);
	flip_each(path, &all, t.n, true, 12);
	str_free(&all);
	str_free(&h.file);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_std),
		cmocka_unit_test(test_cut_others),
		cmocka_unit_test(test_cut_between_chunks),
		cmocka_unit_test(test_flip),
	};

	return cmocka_run_group_tests_name("trace_cut", tests, fixture_setup, fixture_teardown);
}
