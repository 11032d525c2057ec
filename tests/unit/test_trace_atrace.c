/*
 * The content of an .atrace may be wrong although every checksum is right, because
 * another program wrote it or it is an attack. The reader has a sentence for each error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zstd.h>

#include "trace_fixture.h"

#include "base/banned.h"

/* Adds the payload of a NAME chunk; a length may be wrong. */
static void names(struct str *file, uint32_t kind, uint32_t count, uint32_t len, const char *bytes)
{
	struct str p = STR_INIT;

	put_u32(&p, kind);
	for (uint32_t i = 0; i < count; i++)
		put_u32(&p, len);
	str_add(&p, bytes);
	put_chunk(file, CHUNK_NAME, 0, count, &p);
	str_free(&p);
}

/* Adds the payload of one event, with columns of one byte. */
static void event(struct str *file, int op, int thread, int operand, int place)
{
	char bytes[] = {1, 1, 1, 0, (char)op, (char)thread, (char)operand, (char)place};
	struct str p = STR_INIT;

	str_addn(&p, bytes, sizeof bytes);
	put_chunk(file, CHUNK_EVNT, 0, 1, &p);
	str_free(&p);
}

static void done(struct str *file, uint64_t events)
{
	struct str p = STR_INIT;

	str_addn(&p, (const char *)&events, 8);
	put_chunk(file, CHUNK_DONE, 0, 0, &p);
	str_free(&p);
}

static void raw(struct str *file, uint32_t type, uint32_t flags, uint32_t count, const char *bytes,
		size_t n)
{
	struct str p = STR_INIT;

	str_addn(&p, bytes, n);
	put_chunk(file, type, flags, count, &p);
	str_free(&p);
}

/* A chunk header with wrong sizes and no payload: the reader must not trust it. */
static void spoil(struct str *file, struct chunk c)
{
	c.checksum = c.stored ? 0 : chunk_checksum(&c, "");
	str_addn(file, (const char *)&c, sizeof c);
}

/* Adds names, threads T and U, variable x, lock l and string s (number 1), and then one event. */
static void start(struct str *file)
{
	put_header(file);
	names(file, NAMES_THREAD, 2, 1, "TU");
	names(file, NAMES_VAR, 1, 1, "x");
	names(file, NAMES_LOCK, 1, 1, "l");
	names(file, NAMES_STRING, 1, 1, "s");
	event(file, OP_WRITE, 0, 0, 1);
}

static void none(struct str *file)
{
	done(file, 1);
}

static void nothing_behind(struct str *file)
{
	(void)file;
}

static void names_unknown_kind(struct str *file)
{
	names(file, NAMES_KINDS, 1, 1, "x");
}

static void names_without_kind(struct str *file)
{
	raw(file, CHUNK_NAME, 0, 0, "abc", 3);
}

static void names_too_many(struct str *file)
{
	raw(file, CHUNK_NAME, 0, 1000, "\0\0\0\0\1\0\0\0x", 9);
}

static void names_too_many_by_far(struct str *file)
{
	raw(file, CHUNK_NAME, 0, UINT32_MAX, "\0\0\0\0\1\0\0\0x", 9);
}

static void names_too_long(struct str *file)
{
	names(file, NAMES_VAR, 1, 3, "xy");
}

static void names_too_long_by_far(struct str *file)
{
	names(file, NAMES_VAR, 1, UINT32_MAX, "xy");
}

static void names_too_short(struct str *file)
{
	names(file, NAMES_VAR, 1, 1, "xy");
}

static void names_nul(struct str *file)
{
	raw(file, CHUNK_NAME, 0, 2, "\1\0\0\0\1\0\0\0\3\0\0\0yx\0z", 16);
}

static void events_too_short(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, 1, "\1\1\1", 3);
}

static void events_width(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, 1, "\1\3\1\0\4\0\0\0\0\0", 10);
}

static void events_value_width(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, 1, "\1\1\1\2\4\0\0\0\0\0", 10);
}

static void events_value_missing(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, 1, "\1\1\1\1\4\0\0\0", 8);
}

static void events_too_many(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, 2, "\1\1\1\0\4\0\0\0", 8);
}

static void events_too_few(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, 1, "\0\0\0\0\4\4", 6);
}

static void events_count(struct str *file)
{
	raw(file, CHUNK_EVNT, 0, CHUNK_EVENTS_MAX + 1, "\0\0\0\0", 4);
}

static void event_thread(struct str *file)
{
	event(file, OP_WRITE, 2, 0, 0);
}

static void event_variable(struct str *file)
{
	event(file, OP_WRITE, 0, 1, 0);
}

static void event_lock(struct str *file)
{
	event(file, OP_ACQUIRE, 0, 1, 0);
}

static void event_child(struct str *file)
{
	event(file, OP_FORK, 0, 2, 0);
}

static void event_label_unknown(struct str *file)
{
	event(file, OP_BEGIN, 0, 2, 0);
}

static void event_place(struct str *file)
{
	event(file, OP_WRITE, 0, 0, 2);
}

static void event_end_with_operand(struct str *file)
{
	event(file, OP_END, 0, END_REASONS, 0);
}

static void event_no_operation(struct str *file)
{
	event(file, OP_NONE, 0, 0, 0);
}

static void event_unknown_operation(struct str *file)
{
	event(file, OP_COUNT, 0, 0, 0);
}

static void event_operation_255(struct str *file)
{
	event(file, 255, 0, 0, 0);
}

static void event_impossible(struct str *file)
{
	event(file, OP_RELEASE, 1, 0, 0);
}

static void chunk_unknown(struct str *file)
{
	raw(file, CHUNK_TYPE('E', 'V', 'N', 'X'), 0, 1, "x", 1);
}

static void chunk_flags(struct str *file)
{
	spoil(file, (struct chunk){.type = CHUNK_NAME, .flags = 4});
}

static void chunk_zero(struct str *file)
{
	spoil(file, (struct chunk){.type = CHUNK_NAME, .zero = 1});
}

static void chunk_stored_large(struct str *file)
{
	spoil(file, (struct chunk){.type = CHUNK_NAME,
				   .raw = CHUNK_BYTES_MAX + 1,
				   .stored = CHUNK_BYTES_MAX + 1});
}

static void chunk_raw_large(struct str *file)
{
	spoil(file, (struct chunk){.type = CHUNK_NAME, .flags = CHUNK_ZSTD, .raw = UINT32_MAX});
}

static void chunk_sizes_differ(struct str *file)
{
	spoil(file, (struct chunk){.type = CHUNK_NAME, .raw = 4});
}

/* Compressed bytes of another size than the header says, or none at all. */
static void packed(struct str *file, uint32_t raw_bytes, bool cut)
{
	char bytes[64];
	size_t n = ZSTD_compress(bytes, sizeof bytes, "\1\0\0\0\1\0\0\0z", 9, 1) - cut;
	struct chunk c = {.type = CHUNK_NAME,
			  .flags = CHUNK_ZSTD,
			  .stored = (uint32_t)n,
			  .raw = raw_bytes,
			  .count = 1};

	c.checksum = chunk_checksum(&c, bytes);
	str_addn(file, (const char *)&c, sizeof c);
	str_addn(file, bytes, n);
}

static void packed_well(struct str *file)
{
	packed(file, 9, false);
	event(file, OP_WRITE, 0, 1, 0);
	done(file, 2);
}

static void packed_larger(struct str *file)
{
	packed(file, 8, false);
}

static void packed_smaller(struct str *file)
{
	packed(file, 10, false);
}

static void packed_cut(struct str *file)
{
	packed(file, 9, true);
}

static void done_too_early(struct str *file)
{
	done(file, 2);
}

static void done_too_late(struct str *file)
{
	done(file, 0);
}

static void done_short(struct str *file)
{
	raw(file, CHUNK_DONE, 0, 0, "\1\0\0\0", 4);
}

static void done_twice(struct str *file)
{
	done(file, 1);
	done(file, 1);
}

static void empty_chunks(struct str *file)
{
	names(file, NAMES_VAR, 0, 0, "");
	raw(file, CHUNK_EVNT, 0, 0, "\0\0\0\0", 4);
	raw(file, CHUNK_TYPE('N', 'O', 'T', 'E'), CHUNK_OPTIONAL, 0, "", 0);
	event(file, OP_READ, 1, 0, 0);
	done(file, 2);
}

#define UNNAMED           "event 2 of the trace refers to a name that the tables do not have"
#define UNKNOWN_OPERATION "event 2 of the trace has an operation that this atomsan does not know"

static void test_content(void **state)
{
	static const struct {
		void (*put)(struct str *file);
		size_t events;
		const char *why; /* after "file: offset N: ", or after "file: " if it begins with
				    "event" */
	} rows[] = {
		{none, 1, NULL},
		{packed_well, 2, NULL},
		{empty_chunks, 2, NULL},
		{nothing_behind, 1, "the trace is cut off before its last chunk"},
		{names_unknown_kind, 1, "a chunk has names of an unknown kind"},
		{events_value_width, 1, "the column of values has an unknown width"},
		{events_value_missing, 1, "the events do not fit their chunk"},
		{names_without_kind, 1, "the table of names does not fit its chunk"},
		{names_too_many, 1, "the table of names does not fit its chunk"},
		{names_too_many_by_far, 1, "the table of names does not fit its chunk"},
		{names_too_long, 1, "a name is longer than its chunk"},
		{names_too_long_by_far, 1, "a name is longer than its chunk"},
		{names_too_short, 1, "extra bytes after the last name of a chunk"},
		{names_nul, 1, "a name contains a NUL byte"},
		{events_too_short, 1, "the events do not fit their chunk"},
		{events_width, 1, "a column of events has an unknown width"},
		{events_too_many, 1, "the events do not fit their chunk"},
		{events_too_few, 1, "the events do not fit their chunk"},
		{events_count, 1, "the events do not fit their chunk"},
		{event_thread, 1, UNNAMED},
		{event_variable, 1, UNNAMED},
		{event_lock, 1, UNNAMED},
		{event_child, 1, UNNAMED},
		{event_label_unknown, 1, UNNAMED},
		{event_place, 1, UNNAMED},
		{event_end_with_operand, 1, UNNAMED},
		{event_no_operation, 1, UNKNOWN_OPERATION},
		{event_unknown_operation, 1, UNKNOWN_OPERATION},
		{event_operation_255, 1, UNKNOWN_OPERATION},
		{event_impossible, 1, "event 2: U releases lock l, which it does not hold"},
		{chunk_unknown, 1, "a chunk of an unknown type"},
		{chunk_flags, 1, "no chunk begins here"},
		{chunk_zero, 1, "no chunk begins here"},
		{chunk_stored_large, 1, "no chunk begins here"},
		{chunk_raw_large, 1, "no chunk begins here"},
		{chunk_sizes_differ, 1, "no chunk begins here"},
		{packed_larger, 1, "the compressed bytes of a chunk are damaged"},
		{packed_smaller, 1, "the compressed bytes of a chunk are damaged"},
		{packed_cut, 1, "the compressed bytes of a chunk are damaged"},
		{done_too_early, 1, "the number of events in the last chunk is wrong"},
		{done_too_late, 1, "the number of events in the last chunk is wrong"},
		{done_short, 1, "the last chunk has the wrong size"},
		{done_twice, 1, "extra bytes after the last chunk"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const char *path = fixture_path("content.atrace");
		struct str file = STR_INIT, got = STR_INIT;
		struct err err;
		size_t from;

		start(&file);
		from = file.n;
		rows[i].put(&file);
		spit(path, file.s, file.n);
		assert_int_equal(read_all(path, (struct reader_options){0}, &got, &err),
				 rows[i].events);
		if (!rows[i].why) {
			assert_string_equal(err.text, "");
		} else if (!strncmp(rows[i].why, "event 2:", 8)) {
			assert_non_null(strstr(err.text, rows[i].why));
		} else {
			char where[300];

			/* An error in a chunk has the chunk's offset; a missing chunk has the end
			 * of the file. */
			if (rows[i].put == done_twice)
				from += CHUNK_HEADER + 8;
			snprintf(where, sizeof where, "%s: offset %zu: %s", path, from,
				 rows[i].why);
			assert_memory_equal(err.text, where, strlen(where));
		}
		unlink(path);
		str_free(&file);
		str_free(&got);
	}
}

/* Reserved bytes must be zero: a later version may use them. */
static void test_header(void **state)
{
	const char *path = fixture_path("header.atrace");

	(void)state;
	for (size_t at = 12; at < ATRACE_HEADER; at++) {
		struct str file = STR_INIT, got = STR_INIT;
		char want[300];
		struct err err;

		start(&file);
		done(&file, 1);
		file.s[at] = 1;
		spit(path, file.s, file.n);
		assert_int_equal(read_all(path, (struct reader_options){0}, &got, &err), 0);
		snprintf(want, sizeof want,
			 "%s: offset 12: four bytes of the header must be zero and are not", path);
		assert_string_equal(err.text, want);
		str_free(&file);
		str_free(&got);
	}
	unlink(path);
}

/* All widths of a column, just below and just above each limit. */
static void test_widths(void **state)
{
	static const uint32_t counts[] = {1, 2, 255, 256, 257, 65535, 65536, 65537, 70000};

	(void)state;
	for (size_t i = 0; i < N(counts); i++) {
		const char *path = fixture_path("width.atrace");
		struct str all = STR_INIT, got = STR_INIT;
		struct trace t;
		struct err err;

		trace_init(&t);
		for (uint32_t k = 0; k < counts[i]; k++) {
			char name[16];

			snprintf(name, sizeof name, "n%u", k);
			trace_add(&t, trace_event(&t, name, OP_BEGIN, name, ""));
			trace_add(&t, trace_event(&t, "T", OP_UPDATE, name, name));
		}
		describe_all(&t, &all);
		trace_write(&t, path, TRACE_ATRACE, 0);
		assert_int_equal(read_all(path, (struct reader_options){0}, &got, &err), t.n);
		assert_string_equal(err.text, "");
		assert_int_equal(got.n, all.n);
		assert_memory_equal(got.s, all.s, all.n);
		unlink(path);
		str_free(&all);
		str_free(&got);
		trace_free(&t);
	}
}

/* Reads what is in `file` to its end; returns the last event. */
static struct event read_last(const struct str *file)
{
	struct reader_options o = {0};
	struct err err = {0};
	struct event ev[READER_BATCH], last = {0};
	struct reader *r;
	int n;

	spit(fixture_path("v.atrace"), file->s, file->n);
	r = reader_open(fixture_path("v.atrace"), &o, &err);
	assert_non_null(r);
	while ((n = reader_next(r, ev, &err)) > 0)
		last = ev[n - 1];
	assert_string_equal(err.text, "");
	reader_close(r);
	return last;
}

/* Accesses have values, other events have none. */
static void test_values(void **state)
{
	struct str file = STR_INIT;
	struct event e;

	(void)state;
	start(&file);
	raw(&file, CHUNK_EVNT, 0, 2, "\1\0\0\1\3\6\0\0\7\7", 10);
	raw(&file, CHUNK_EVNT, 0, 1, "\1\0\0\1\3\0\376", 7);
	done(&file, 4);
	e = read_last(&file);
	assert_int_equal(e.op, OP_READ);
	assert_int_equal(e.value, VALUE_MINUS_ONE);
	str_reset(&file);
	start(&file);
	raw(&file, CHUNK_EVNT, 0, 1, "\1\0\0\1\6\0\7", 7);
	done(&file, 2);
	assert_int_equal(read_last(&file).value, VALUE_UNKNOWN);
	str_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_widths),
	};

	return cmocka_run_group_tests_name("trace_atrace", tests, fixture_setup, fixture_teardown);
}
