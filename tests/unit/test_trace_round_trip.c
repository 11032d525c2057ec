/* What a writer writes can be read again in every format, any number of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "trace_fixture.h"

#include "base/banned.h"

/* Names of all lengths around the limits of short names, and names with odd bytes. */
static const char *const odd_names[] = {
	"a",
	"abcdefg",
	"abcdefgh",
	"abcdefghi",
	"abcdefghijklmn",
	"abcdefghijklmno",
	"abcdefghijklmnop",
	"abcdefghijklmnopq",
	"a name with forty letters, or about that",
	"0",
	"00",
	"17",
	"999999999",
	"1000000000",
	"-1",
	"(",
	")",
	"x(y)",
	"begin",
	" ",
	"\t",
	"\x01\xff\xfe",
	"Gr\xc3\xb6\xc3\x9f",
	"%s%n",
	"#1",
	"\"'\\",
};

static const char *a_name(struct rng *rng, char kind, uint32_t most, char *buf, size_t size)
{
	if (rng_below(rng, 3))
		snprintf(buf, size, "%c%u", kind, rng_below(rng, most));
	else
		snprintf(buf, size, "%s%s", rng_below(rng, 2) ? "" : "x",
			 odd_names[rng_below(rng, N(odd_names))]);
	return buf;
}

static struct event random_event(struct trace *t, struct rng *rng)
{
	enum op op = OP_BEGIN + rng_below(rng, OP_COUNT - OP_BEGIN);
	char thread[64], operand[64], place[64];

	snprintf(thread, sizeof thread, "T%u", rng_below(rng, rng_below(rng, 4) ? 5 : 9));
	switch (op_info[op].operand) {
	case OPERAND_LABEL:
		if (rng_below(rng, 2))
			a_name(rng, 'f', 9, operand, sizeof operand);
		else
			operand[0] = 0;
		break;
	case OPERAND_THREAD:
		/* Never the first five: some threads must remain. */
		snprintf(operand, sizeof operand, "T%u", 5 + rng_below(rng, 4));
		break;
	case OPERAND_LOCK:
		snprintf(operand, sizeof operand, "l%u", rng_below(rng, 4));
		break;
	case OPERAND_SYNC:
		snprintf(operand, sizeof operand, "l%u", rng_below(rng, RULES_LOCKS));
		break;
	default:
		a_name(rng, 'x', 400, operand, sizeof operand);
	}
	place[0] = 0;
	if (rng_below(rng, 3))
		a_name(rng, 'p', 900, place, sizeof place);
	return trace_event(t, thread, op, operand, place);
}

/* Adds a random operation that can happen. */
static void random_trace(struct trace *t, uint64_t seed, size_t n)
{
	struct rng rng = {seed};
	struct rules rules = {0};

	trace_init(t);
	/* The rules use the numbers of these tables. */
	for (uint32_t i = 0; i < RULES_LOCKS; i++) {
		char name[8];

		snprintf(name, sizeof name, "l%u", i);
		assert_int_equal(table_intern_any(&t->names.table[NAMES_LOCK], name, 2), i);
	}
	while (t->n < n) {
		struct event e = random_event(t, &rng);
		struct rules before = rules;

		if (rules_take(&rules, &e) == IMPOSSIBLE)
			rules = before;
		else
			trace_add(t, e);
	}
}

static const struct {
	const char *name;
	enum trace_format format;
} files[] = {
	{"a.std", TRACE_STD},
	{"a.atrace", TRACE_ATRACE},
	{"a.std.zst", TRACE_STD},
	{"a.atrace.zst", TRACE_ATRACE},
};

/* Reads the file `from` and writes it to `to`, as `atomsan convert` does. */
static void copy(const char *from, const char *to, enum trace_format format)
{
	static struct event ev[READER_BATCH];
	struct reader_options options = {.keep_repeats = true};
	struct err err = {0};
	struct reader *r = reader_open(from, &options, &err);
	struct writer *w = writer_open(to, format, &err);
	int n;

	assert_non_null(r);
	assert_non_null(w);
	while ((n = reader_next(r, ev, &err)) > 0)
		assert_int_equal(writer_put(w, reader_names(r), ev, (size_t)n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(writer_close(w, &err), 0);
	reader_close(r);
}

static void round_trip(uint64_t seed, size_t n)
{
	struct reader_options options = {.keep_repeats = true};
	struct str all = STR_INIT, got = STR_INIT;
	struct trace t;
	struct err err;

	random_trace(&t, seed, n);
	describe_all(&t, &all);
	for (size_t i = 0; i < N(files); i++) {
		const char *path = fixture_path(files[i].name), *other = fixture_path("other.zst");

		trace_write(&t, path, files[i].format, seed % 2 ? 100 : 0);
		assert_int_equal(read_all(path, options, &got, &err), t.n);
		assert_string_equal(err.text, "");
		assert_int_equal(got.n, all.n);
		assert_memory_equal(got.s, all.s, all.n);
		/* And from there to each of the other formats. */
		for (size_t k = 0; k < N(files); k++) {
			copy(path, other, files[k].format);
			assert_int_equal(read_all(other, options, &got, &err), t.n);
			assert_string_equal(err.text, "");
			assert_int_equal(got.n, all.n);
			assert_memory_equal(got.s, all.s, all.n);
			unlink(other);
		}
		unlink(path);
	}
	str_free(&all);
	str_free(&got);
	trace_free(&t);
}

static void test_round_trip(void **state)
{
	(void)state;
	round_trip(0, 0);
	round_trip(0, 1);
	for (uint64_t seed = 1; seed <= 100; seed++)
		round_trip(seed, seed % 10 ? 40 + seed : 1500 + seed);
}

/* Longer than the input's window and than a chunk of the writer. */
static void test_large(void **state)
{
	(void)state;
	round_trip(7, 70000);
}

/* Reads a part of it, all of it, all of it again. */
static void rewind_each(const char *path, const struct reader_options *options,
			const struct str *all, const struct err *want)
{
	struct str got = STR_INIT;
	struct err err = {0};
	struct reader *r = reader_open(path, options, &err);

	assert_non_null(r);
	for (int parts = 0; parts <= 3; parts++) {
		static struct event ev[READER_BATCH];

		for (int i = 0; i < parts; i++)
			assert_true(reader_next(r, ev, &err) > 0);
		assert_int_equal(reader_rewind(r, &err), 0);
		assert_int_equal(reader_counts(r)->events, 0);
		if (parts == 1)
			continue; /* sometimes twice in a row */
		read_on(r, &got, &err);
		assert_string_equal(err.text, want->text);
		assert_int_equal(got.n, all->n);
		assert_memory_equal(got.s, all->s, all->n);
		assert_int_equal(reader_rewind(r, &err), 0);
	}
	str_free(&got);
	reader_close(r);
}

/* Rewinding works after an error too: the same error comes again. */
static void test_rewind(void **state)
{
	struct reader_options options = {.rewindable = true, .lenient = false};
	struct str all = STR_INIT;
	struct err err;
	struct trace t;

	(void)state;
	random_trace(&t, 3, 9000);
	for (int broken = 0; broken < 2; broken++) {
		if (broken)
			trace_add(&t, trace_event(&t, "nobody", OP_END, "", "here"));
		for (size_t i = 0; i < N(files); i++) {
			const char *path = fixture_path(files[i].name);

			trace_write(&t, path, files[i].format, 0);
			read_all(path, options, &all, &err);
			assert_int_equal(err_is_set(&err), broken);
			rewind_each(path, &options, &all, &err);
			unlink(path);
		}
	}
	str_free(&all);
	trace_free(&t);
}

/* Returns a descriptor from which `bytes` can be read. */
static int pipe_with(const struct str *bytes, pid_t *child)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	*child = fork();
	if (*child == 0) {
		size_t done = 0;

		close(ends[0]);
		while (done < bytes->n) {
			ssize_t n = write(ends[1], bytes->s + done, bytes->n - done);

			if (n < 0)
				_exit(1);
			done += (size_t)n;
		}
		_exit(0);
	}
	assert_true(*child > 0);
	close(ends[1]);
	return ends[0];
}

/* A pipe, as standard input and by name: the reader keeps a copy for a second pass. */
static void test_rewind_pipe(void **state)
{
	struct reader_options options = {.rewindable = true};
	int keep = fcntl(0, F_DUPFD_CLOEXEC, 10);
	struct str all = STR_INIT, file = STR_INIT;
	struct err err;
	struct trace t;

	(void)state;
	random_trace(&t, 5, 30000);
	for (size_t i = 0; i < N(files); i++) {
		const char *path = fixture_path(files[i].name);
		char by_name[64];
		pid_t child;
		int fd, status;

		trace_write(&t, path, files[i].format, 0);
		slurp(path, &file);
		read_all(path, options, &all, &err);
		assert_string_equal(err.text, "");
		unlink(path);

		fd = pipe_with(&file, &child);
		assert_int_equal(dup2(fd, 0), 0);
		close(fd);
		rewind_each("-", &options, &all, &err);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);

		fd = pipe_with(&file, &child);
		snprintf(by_name, sizeof by_name, "/proc/self/fd/%d", fd);
		rewind_each(by_name, &options, &all, &err);
		close(fd);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	if (keep >= 0) {
		dup2(keep, 0);
		close(keep);
	}
	str_free(&all);
	str_free(&file);
	trace_free(&t);
}

/* Standard input may be a file whose beginning another process has read. */
static void test_rewind_middle_of_file(void **state)
{
	static const char text[] = "not for us\nT1|r(x)\nT2|w(x)\n";
	struct reader_options options = {.rewindable = true};
	int keep = fcntl(0, F_DUPFD_CLOEXEC, 10), fd;
	const char *path = fixture_path("middle.std");
	struct str got = STR_INIT, again = STR_INIT;
	struct err err = {0};
	struct reader *r;

	(void)state;
	spit(path, text, sizeof text - 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(lseek(fd, 11, SEEK_SET) == 11);
	assert_int_equal(dup2(fd, 0), 0);
	close(fd);
	r = reader_open("-", &options, &err);
	assert_non_null(r);
	assert_string_equal(reader_path(r), "<stdin>");
	assert_int_equal(read_on(r, &got, &err), 2);
	assert_int_equal(reader_rewind(r, &err), 0);
	assert_int_equal(read_on(r, &again, &err), 2);
	assert_string_equal(got.s, again.s);
	reader_close(r);
	if (keep >= 0) {
		dup2(keep, 0);
		close(keep);
	}
	unlink(path);
	str_free(&got);
	str_free(&again);
}

/* A name that STD text cannot have is refused; .atrace can have it. */
static void test_names_not_for_std(void **state)
{
	static const struct {
		const char *thread, *operand, *place;
	} rows[] = {
		{"a|b", "x", ""},   {"T1", "a|b", ""},   {"T1", "x", "a|b"}, {"a\nb", "x", ""},
		{"T1", "a\nb", ""}, {"T1", "x", "a\nb"}, {"#1", "x", ""},    {"", "x", ""},
		{"T1", "", ""},     {"T1", "x", "a\r"},  {"T1", "x", "\r"},  {"\rT", "x", ""},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const char *std = fixture_path("a.std"), *atrace = fixture_path("a.atrace");
		struct str all = STR_INIT, got = STR_INIT;
		struct err err = {0};
		struct writer *w;
		struct trace t;

		trace_init(&t);
		trace_add(&t, trace_event(&t, rows[i].thread, OP_WRITE, rows[i].operand,
					  rows[i].place));
		describe_all(&t, &all);
		w = writer_open(std, TRACE_STD, &err);
		assert_non_null(w);
		assert_int_equal(writer_put(w, &t.names, t.ev, 1, &err), -1);
		assert_memory_equal(err.text, std, strlen(std));
		assert_non_null(strstr(err.text, "STD text"));
		assert_int_equal(writer_close(w, &err), -1);

		trace_write(&t, atrace, TRACE_ATRACE, 0);
		assert_int_equal(read_all(atrace, (struct reader_options){0}, &got, &err), 1);
		assert_string_equal(err.text, "");
		assert_string_equal(got.s, all.s);
		unlink(std);
		unlink(atrace);
		str_free(&all);
		str_free(&got);
		trace_free(&t);
	}
}

/* A carriage return is a byte of a name like any other, unless it ends the line. */
static void test_carriage_return(void **state)
{
	static const struct {
		const char *thread, *operand, *place;
	} rows[] = {
		{"T\r1", "x\ry", "a\rb"},
		{"T\r", "\rx", "\ra"},
		{"T", "\r", "a\r\rb"},
		{"T", "x\r", ""},
	};
	const char *path = fixture_path("cr.std");
	struct str all = STR_INIT, got = STR_INIT;
	struct trace t;
	struct err err;

	(void)state;
	trace_init(&t);
	for (size_t i = 0; i < N(rows); i++) {
		trace_add(&t, trace_event(&t, rows[i].thread, OP_WRITE, rows[i].operand,
					  rows[i].place));
		trace_add(&t, trace_event(&t, rows[i].thread, OP_BEGIN, rows[i].operand, ""));
	}
	describe_all(&t, &all);
	trace_write(&t, path, TRACE_STD, 0);
	assert_int_equal(read_all(path, (struct reader_options){0}, &got, &err), t.n);
	assert_string_equal(err.text, "");
	assert_string_equal(got.s, all.s);
	unlink(path);
	str_free(&all);
	str_free(&got);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_rewind),
		cmocka_unit_test(test_rewind_pipe),
		cmocka_unit_test(test_rewind_middle_of_file),
		cmocka_unit_test(test_names_not_for_std),
		cmocka_unit_test(test_carriage_return),
	};

	return cmocka_run_group_tests_name("trace_round_trip", tests, fixture_setup,
					   fixture_teardown);
}
