/*
 * How raw recordings, built by hand, become events; and files that are not recordings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "raw_builder.h"
#include "trace/raw_file.h"
#include "trace_fixture.h"

static struct raw_build b;
static struct str file, text;

static int setup(void **state)
{
	(void)state;
	raw_build_init(&b);
	file = (struct str)STR_INIT;
	text = (struct str)STR_INIT;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_build_free(&b);
	str_free(&file);
	str_free(&text);
	return 0;
}

/* Adds events such as "T0 w 0", one a line: operands by number, blocks by their label's text. */
static void describe_short(const struct names *names, const struct event *e, struct str *out)
{
	str_fmt(out, "T%u %s", e->thread, op_info[e->op].spelling);
	if (e->op == OP_BEGIN)
		str_fmt(out, " %s", names->table[NAMES_STRING].text[e->operand]);
	else if (e->op != OP_END)
		str_fmt(out, " %u", e->operand);
	else if (e->operand != END_RETURN)
		str_add(out, e->operand == END_CUT ? " cut" : " not-atomic");
	if (e->value)
		str_fmt(out, " =%u", e->value);
	str_addc(out, '\n');
}

static void describe_names(const struct names *names, struct str *out)
{
	for (int k = 0; k < NAMES_KINDS; k++)
		for (uint32_t i = 0; i < names->table[k].n; i++)
			str_fmt(out, "%d:%s\n", k, names->table[k].text[i]);
}

static void one_pass(struct reader *r, struct str *out)
{
	static struct event ev[READER_BATCH];
	struct err err = {0};
	int n;

	str_reset(out);
	while ((n = reader_next(r, ev, &err)) > 0)
		for (int i = 0; i < n; i++)
			describe_short(reader_names(r), &ev[i], out);
	assert_string_equal(err.text, "");
}

static struct reader *open_built(const char *name)
{
	struct reader_options o = {.keep_repeats = true, .all_blocks = true, .rewindable = true};
	struct err err = {0};
	struct reader *r;

	raw_assemble(&b, &file);
	spit(fixture_path(name), file.s, file.n);
	r = reader_open(fixture_path(name), &o, &err);
	assert_non_null(r);
	return r;
}

/* Expects these events and no others; in later passes the same, with the same names. */
static void expect(const char *want)
{
	struct reader *r = open_built("x.raw");
	struct str names = STR_INIT, names2 = STR_INIT;
	struct err err = {0};
	struct event ev[READER_BATCH];

	one_pass(r, &text);
	assert_string_equal(text.s, want);
	describe_names(reader_names(r), &names);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(reader_rewind(r, &err), 0);
		if (again) { /* not to the end */
			assert_true(reader_next(r, ev, &err) >= 0);
			assert_int_equal(reader_rewind(r, &err), 0);
		}
		one_pass(r, &text);
		assert_string_equal(text.s, want);
		str_reset(&names2);
		describe_names(reader_names(r), &names2);
		assert_string_equal(names.s, names2.s);
	}
	str_free(&names);
	str_free(&names2);
	reader_close(r);
}

/* Does a name of this kind begin and end so? */
static bool has_name_like(enum names_kind kind, const char *begin, const char *end)
{
	struct reader *r = open_built("x.raw");
	const struct table *t;
	bool found = false;

	one_pass(r, &text);
	t = &reader_names(r)->table[kind];
	for (uint32_t i = 0; i < t->n; i++)
		found |= t->len[i] >= strlen(begin) + strlen(end) &&
			 !strncmp(t->text[i], begin, strlen(begin)) &&
			 !strcmp(t->text[i] + t->len[i] - strlen(end), end);
	reader_close(r);
	return found;
}

static bool has_name(enum names_kind kind, const char *name)
{
	return has_name_like(kind, name, "") && has_name_like(kind, "", name);
}

#define A    0x20000u
#define LOCK 0x30000u

static void by_time(void **state)
{
	(void)state;
	raw_put(&b, 1, 20, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 30, RAW_READ, A, 8, 2);
	raw_put(&b, 1, 40, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 35, RAW_WRITE, A, 8, 2);
	raw_put(&b, 0, 10, RAW_READ, A, 8, 2); /* counts as 35 */
	expect("T1 w 0\nT0 r 0\nT0 w 0\nT0 r 0\nT1 w 0\n");
}

static void no_place(void **state)
{
	(void)state;
	raw_put(&b, 0, 10, RAW_READ, A, 8, 2);
	raw_put(&b, 0, 20, RAW_WRITE, A, 8, 0);
	raw_put(&b, 1, 30, RAW_WRITE, A, 8, 1);
	expect("T0 r 0\nT0 w 0\nT1 w 0\n");
	assert_true(has_name(NAMES_STRING, "0 ?+0x2"));
	assert_false(has_name(NAMES_STRING, "0 ?+0x0"));
}

/* Chunks may be in the file in any order; RAW_TIME and RAW_PC_HIGH apply to one chunk. */
static void chunks(void **state)
{
	(void)state;
	raw_put(&b, 0, 1, RAW_WRITE, A, 8, 1);
	raw_words(&b, 0, (uint64_t)RAW_TIME << 48, 1000);
	raw_put(&b, 0, 5, RAW_READ, A, 8, 1);
	raw_cut_chunk(&b, 0);
	raw_put(&b, 0, 6, RAW_UPDATE, A, 8, 1); /* the base of this chunk is 0 again */
	raw_cut_chunk(&b, 0);
	raw_cut_chunk(&b, 0); /* a chunk without units */
	raw_put(&b, 0, 1100, RAW_READ, A, 8, 1);
	raw_put(&b, 1, 1004, RAW_WRITE, A, 8, 1);
	raw_put(&b, 1, 1006, RAW_WRITE, A, 8, 1);
	expect("T0 w 0\nT1 w 0\nT0 r 0\nT0 u 0\nT1 w 0\nT0 r 0\n");
}

static void of_one_thread(void **state)
{
	(void)state;
	raw_put(&b, 0, 1, RAW_CALL, 0x100, 1, 1);
	raw_put(&b, 0, 2, RAW_WRITE, A, 8, 1);
	raw_put(&b, 1, 3, RAW_WRITE, A + 8, 8, 1);
	raw_put(&b, 0, 4, RAW_RETURN, 0, 0, 1);
	/* Memory of one thread, and a function in which nothing else happens. */
	expect("");
	assert_true(has_name(NAMES_NOTE, "unshared 2"));
}

/* A word of which the other thread accesses one half. */
static void halves(void **state)
{
	(void)state;
	raw_put(&b, 0, 1, RAW_WRITE, A, 8, 1);
	raw_put(&b, 1, 2, RAW_READ, A + 4, 4, 1);
	raw_put_size(&b, 0, 3, RAW_WRITE_RANGE, A + 4, 20, 1);
	raw_put(&b, 1, 4, RAW_READ, A + 16, 8, 1);
	expect("T0 w 0\nT0 w 1\nT1 r 1\nT0 w 1\nT0 w 2\nT1 r 2\n");
}

/* A range of a gigabyte in a recording of few bytes: most of its pages are not remembered. */
static void large_range(void **state)
{
	(void)state;
	raw_put_size(&b, 0, 1, RAW_WRITE_RANGE, A, 1 << 30, 1);
	raw_put(&b, 0, 2, RAW_WRITE, A, 4, 1);
	raw_put(&b, 1, 3, RAW_READ, A, 4, 1);
	expect("T0 w 0\nT0 w 1\nT0 w 0\nT1 r 0\n");
	assert_true(has_name_like(NAMES_NOTE, "lost accesses of ", " pages: too much memory"));
}

static void cuts(void **state)
{
	static const uint32_t ops[] = {RAW_WAIT, RAW_BARRIER, RAW_JOIN, RAW_FORK};
	static const char *const words[] = {"wait 0", "barrier 0", "join 1", "fork 1"};

	(void)state;
	for (size_t i = 0; i < N(ops); i++) {
		char want[400];

		raw_build_free(&b);
		raw_build_init(&b);
		raw_put(&b, 0, 10, RAW_CALL, 0x100, 1, 1);
		raw_put(&b, 0, 11, RAW_CALL, 0x200, 0, 2);
		raw_put(&b, 0, 12, ops[i], ops[i] >= RAW_WAIT ? LOCK : 1, 0, 3);
		raw_put(&b, 0, 15, RAW_WRITE, A, 8, 4);
		raw_put(&b, 0, 16, RAW_RETURN, 0, 0, 4);
		raw_put(&b, 0, 17, RAW_CALL, 0x300, 0, 5);
		raw_put(&b, 0, 18, RAW_WRITE, A, 8, 6);
		raw_put(&b, 0, 19, RAW_RETURN, 0, 0, 4);
		raw_put(&b, 0, 20, RAW_RETURN, 0, 0, 4);
		raw_put(&b, 1, ops[i] == RAW_FORK ? 30 : 5, RAW_WRITE, A, 8, 7);
		snprintf(want, sizeof want,
			 "%sT0 begin m ?+0x100\nT0 begin f ?+0x200\nT0 end cut\nT0 end cut\n"
			 "T0 %s\nT0 w 0\nT0 begin f ?+0x300\nT0 w 0\nT0 end\n%s",
			 ops[i] == RAW_FORK ? "" : "T1 w 0\n", words[i],
			 ops[i] == RAW_FORK ? "T1 w 0\n" : "");
		expect(want);
	}
}

/* A begin is delayed until something happens; a block that was cut does not begin again. */
static void blocks(void **state)
{
	(void)state;
	raw_put_text(&b, 0, 1, RAW_LABEL, 4, "a label of more than 16 bytes");
	raw_put(&b, 1, 1, RAW_WRITE, A, 8, 7);
	raw_put(&b, 0, 2, RAW_CALL, 0x100, 0, 1);
	raw_put(&b, 0, 3, RAW_CALL, 0x200, 0, 1);
	raw_put(&b, 0, 4, RAW_RETURN, 0, 0, 1);
	raw_put(&b, 0, 5, RAW_BEGIN, 4, 0, 1);
	raw_put(&b, 0, 6, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 7, RAW_END, 0, 0, 1);
	raw_put(&b, 0, 8, RAW_END, 0, 0, 1); /* no block is open */
	raw_put(&b, 0, 9, RAW_BEGIN, 4, 0, 1);
	raw_put(&b, 0, 10, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 11, RAW_RETURN, 0, 0, 1); /* ends the marked block too */
	raw_put(&b, 0, 12, RAW_RETURN, 0, 0, 1); /* no function is open */
	raw_put(&b, 0, 13, RAW_CALL, 0x300, 0, 1);
	raw_put(&b, 0, 14, RAW_NOT_ATOMIC, 0, 0, 1);
	raw_put(&b, 0, 15, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 16, RAW_RETURN, 0, 0, 1);
	raw_put(&b, 0, 17, RAW_CALL, 0x400, 0, 1);
	raw_put(&b, 0, 18, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 19, RAW_EXIT, 0, 0, 1);
	raw_put(&b, 1, 20, RAW_CALL, 0x500, 0, 1);
	raw_put(&b, 1, 21, RAW_CALL, 0x600, 0, 1);
	raw_put(&b, 1, 22, RAW_READ, A, 8, 7); /* and then it was killed */
	expect("T1 w 0\n"
	       "T0 begin f ?+0x100\nT0 begin a a label of more than 16 bytes\nT0 w 0\nT0 end\n"
	       "T0 begin a a label of more than 16 bytes\nT0 w 0\nT0 end\nT0 end\n"
	       "T0 begin f ?+0x300\nT0 end not-atomic\nT0 w 0\n"
	       "T0 begin f ?+0x400\nT0 w 0\nT0 end\n"
	       "T1 begin s ?+0x500\nT1 begin f ?+0x600\nT1 r 0\n");
}

static void locks(void **state)
{
	(void)state;
	raw_put(&b, 0, 1, RAW_ACQUIRE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 0, 2, RAW_ACQUIRE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 0, 3, RAW_RELEASE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 1, 4, RAW_ACQUIRE, LOCK, RAW_MUTEX, 1); /* T0 must have released it */
	raw_put(&b, 0, 5, RAW_RELEASE, LOCK, RAW_MUTEX, 1); /* already released */
	raw_put(&b, 1, 6, RAW_RELEASE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 0, 7, RAW_ACQUIRE_SHARED, LOCK + 64, RAW_RWLOCK, 1);
	raw_put(&b, 1, 8, RAW_ACQUIRE_SHARED, LOCK + 64, RAW_RWLOCK, 1);
	raw_put(&b, 0, 9, RAW_RELEASE, LOCK + 64, RAW_RWLOCK, 1);
	raw_put(&b, 0, 10, RAW_ACQUIRE, LOCK + 64, RAW_RWLOCK, 1); /* T1 must have released it */
	raw_put(&b, 0, 11, RAW_ACQUIRE_SHARED, LOCK + 64, RAW_RWLOCK, 1); /* impossible */
	raw_put(&b, 0, 12, RAW_RELEASE, LOCK + 64, RAW_RWLOCK, 1);
	expect("T0 acq 0\nT0 acq 0\nT0 rel 0\nT0 rel 0\nT1 acq 0\nT1 rel 0\n"
	       "T0 racq 1\nT1 racq 1\nT0 rrel 1\nT1 rrel 1\nT0 acq 1\nT0 rel 1\n");
	assert_true(
		has_name(NAMES_NOTE, "lost 4 operations on locks and threads do not fit together"));
	assert_true(has_name(NAMES_LOCK, "rwlock o 0x30040 1"));
}

/*
 * A holder that was joined cannot release a lock: the next acquire is of another lock. So it is
 * after RAW_LOCK_NEW; the old lock is released first if it is held.
 */
static void locks_of_the_dead(void **state)
{
	(void)state;
	raw_put(&b, 1, 1, RAW_ACQUIRE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 1, 2, RAW_ACQUIRE_SHARED, LOCK + 64, RAW_RWLOCK, 1);
	raw_put(&b, 0, 3, RAW_JOIN, 1, 0, 1);
	raw_put(&b, 0, 4, RAW_ACQUIRE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 0, 5, RAW_ACQUIRE, LOCK + 64, RAW_RWLOCK, 1);
	raw_put(&b, 0, 6, RAW_LOCK_NEW, LOCK, 0, 1);
	raw_put(&b, 0, 7, RAW_ACQUIRE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 0, 8, RAW_RELEASE, LOCK, RAW_MUTEX, 1);
	raw_put(&b, 1, 9, RAW_RELEASE, LOCK, RAW_MUTEX, 1); /* after its join */
	raw_put(&b, 0, 9, RAW_FORK, 1, 0, 1);               /* T1 has run */
	expect("T1 acq 0\nT1 racq 1\nT0 join 1\nT0 acq 2\nT0 acq 3\nT0 rel 2\nT0 acq 4\nT0 rel "
	       "4\n");
}

/* A semaphore that every thread waits for and then posts is a lock. */
static void semaphores(void **state)
{
	(void)state;
	for (uint32_t t = 0; t < 2; t++) {
		raw_put(&b, t, 10 + 10 * t, RAW_SEM_WAIT, LOCK, 0, 1);
		raw_put(&b, t, 11 + 10 * t, RAW_SEM_POST, LOCK, 0, 1);
	}
	raw_put(&b, 0, 30, RAW_SEM_POST, LOCK + 64, 0, 1); /* a signal to another thread */
	raw_put(&b, 1, 31, RAW_SEM_WAIT, LOCK + 64, 0, 1);
	raw_put(&b, 0, 32, RAW_LOCK_NEW, LOCK + 128, 2, 1); /* its value is 2 */
	raw_put(&b, 0, 33, RAW_SEM_WAIT, LOCK + 128, 0, 1);
	raw_put(&b, 0, 34, RAW_SEM_POST, LOCK + 128, 0, 1);
	raw_put(&b, 1, 40, RAW_SEM_WAIT, LOCK + 192, 0, 1); /* never posted */
	raw_put(&b, 0, 50, RAW_SEM_WAIT, LOCK + 256, 0, 1); /* posted by the other thread */
	raw_put(&b, 1, 51, RAW_SEM_POST, LOCK + 256, 0, 1);
	expect("T0 acq 0\nT0 rel 0\nT1 acq 0\nT1 rel 0\nT0 u 0\nT1 u 0\nT0 u 1\nT0 u 1\nT1 u 2\n"
	       "T0 u 3\nT1 u 3\n");
	assert_true(has_name(NAMES_LOCK, "semaphore o 0x30000 1"));
}

/* Memory that is freed and used again is another variable, and a lock in it another lock. */
static void reuse(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		raw_put_size(&b, 0, 10 + 100 * i, RAW_ALLOC, A, 64, 0x111);
		raw_put(&b, 0, 12 + 100 * i, RAW_WRITE, A + 8, 4, 1);
		raw_put(&b, 1, 14 + 100 * i, RAW_ACQUIRE, A + 16, RAW_MUTEX, 1);
		raw_put(&b, 1, 16 + 100 * i, RAW_READ, A + 8, 4, 1);
		raw_put(&b, 1, 18 + 100 * i, RAW_RELEASE, A + 16, RAW_MUTEX, 1);
		raw_put(&b, 0, 20 + 100 * i, RAW_FREE, A, 0, 1);
	}
	raw_put(&b, 0, 300, RAW_FREE, A, 0, 1); /* freed twice */
	expect("T0 w 0\nT1 acq 0\nT1 r 0\nT1 rel 0\nT0 free 0\n"
	       "T0 w 1\nT1 acq 1\nT1 r 1\nT1 rel 1\nT0 free 1\n");
	assert_true(has_name(NAMES_VAR, "h 0x8 4 64 1"));
	assert_true(has_name(NAMES_STRING, "0 ?+0x111"));
	assert_true(has_name(NAMES_LOCK, "mutex h 0x10 1 64 1"));
}

/* To free memory is to use it: what only another thread accessed is shared by that. */
static void freed_by_another(void **state)
{
	(void)state;
	raw_put_size(&b, 0, 10, RAW_ALLOC, A, 64, 0x111);
	raw_put_size(&b, 0, 11, RAW_ALLOC, A + 64, 64, 0x111);
	raw_put(&b, 1, 12, RAW_WRITE, A + 8, 4, 1);
	raw_put(&b, 1, 13, RAW_WRITE, A + 72, 4, 1); /* freed by the same thread: not shared */
	raw_put(&b, 1, 14, RAW_FREE, A + 64, 0, 1);
	raw_put(&b, 0, 15, RAW_FREE, A, 0, 1);
	expect("T1 w 0\nT0 free 0\n");
}

/* Values are those of accesses that are one variable, as a whole. */
static void values(void **state)
{
	(void)state;
	raw_put(&b, 0, 10, RAW_WRITE4, A, 1, 1);
	raw_put(&b, 1, 11, RAW_READ4, A, 1, 1);
	raw_put(&b, 1, 12, RAW_UPDATE1, A + 4, 254, 1);
	raw_put(&b, 0, 13, RAW_READ1, A + 4, 255, 1); /* 255 is no value */
	raw_put(&b, 0, 14, RAW_READ8, A + 8, 7, 1);
	raw_put(&b, 1, 15, RAW_WRITE, A + 8, 4, 1);
	raw_put(&b, 1, 16, RAW_READ2, A + 16, 9, 1); /* not shared */
	expect("T0 w 0 =1\nT1 r 0 =1\nT1 u 1 =254\nT0 r 1\nT0 r 2\nT0 r 3\nT1 w 2\n");
}

/* The same for memory that is unmapped. */
static void forgotten(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		raw_put(&b, 0, 10 + 10 * i, RAW_ACQUIRE, A, RAW_MUTEX, 1);
		raw_put(&b, 0, 11 + 10 * i, RAW_RELEASE, A, RAW_MUTEX, 1);
		raw_put_size(&b, 0, 12 + 10 * i, RAW_FORGET, A, 4096, 1);
	}
	expect("T0 acq 0\nT0 rel 0\nT0 acq 1\nT0 rel 1\n");
}

static void high_program_counters(void **state)
{
	(void)state;
	raw_words(&b, 0, (uint64_t)RAW_PC_HIGH << 48 | 0x55, 0);
	raw_put(&b, 0, 1, RAW_BARRIER, A, 8, 0x1234);
	raw_cut_chunk(&b, 0);
	raw_put(&b, 0, 2, RAW_BARRIER, A, 8, 0x1234);
	expect("T0 barrier 0\nT0 barrier 0\n");
	assert_true(has_name(NAMES_STRING, "0 ?+0x5500001234"));
	assert_true(has_name(NAMES_STRING, "0 ?+0x1234"));
}

static void names_of_memory(void **state)
{
	(void)state;
	b.command = "a program";
	b.header.closed = 2;
	memcpy(b.header.why, "writing: no space", 18);
	raw_put_size(&b, 0, 1, RAW_START, 0x7000000, 0x10000, 0);
	raw_put_size(&b, 1, 1, RAW_START, 0x6000000, 0x10000, 0);
	raw_put_text(&b, 0, 2, RAW_MODULE, 0x400000, "8192 abcd /a/program with spaces");
	raw_put_text(&b, 0, 2, RAW_MODULE, 0x500000, "nonsense");
	raw_put_text(&b, 1, 3, RAW_NAME, 0, "worker");
	for (uint32_t t = 0; t < 2; t++) {
		raw_put(&b, t, 10, RAW_WRITE, 0x401000, 4, 0x400123);
		raw_put(&b, t, 11, RAW_WRITE, 0x7000100, 4, 0x400123);
		raw_put(&b, t, 12, RAW_WRITE, 0x6000100, 4, 0x999999);
		raw_put(&b, t, 13, RAW_WRITE, 0x5000100, 4, 0x999999);
	}
	expect("T0 w 0\nT1 w 0\nT0 w 1\nT1 w 1\nT0 w 2\nT1 w 2\nT0 w 3\nT1 w 3\n");
	assert_true(has_name(NAMES_VAR, "g 1+0x1000 4"));
	assert_true(has_name(NAMES_VAR, "s 0 0x7000100 4"));
	assert_true(has_name(NAMES_VAR, "s 1 0x6000100 4"));
	assert_true(has_name(NAMES_VAR, "o 0x5000100 4"));
	assert_true(has_name(NAMES_STRING, "0 1+0x123"));
	assert_true(has_name(NAMES_STRING, "0 ?+0x999999"));
	assert_true(has_name(NAMES_NOTE, "recorded 1"));
	assert_true(has_name(NAMES_NOTE, "command a program"));
	assert_true(has_name(NAMES_NOTE, "module 1 0x400000 8192 abcd /a/program with spaces"));
	assert_true(has_name(NAMES_NOTE, "thread 1 0 0 worker"));
	assert_true(has_name(NAMES_NOTE, "lost recording stopped: writing: no space"));
}

/* Threads 0 and 3 have chunks, 1 and 2 never ran. */
static void threads_without_chunks(void **state)
{
	(void)state;
	raw_put(&b, 0, 1, RAW_FORK, 1, 0, 1);
	raw_put(&b, 0, 2, RAW_FORK, 9, 0, 1); /* this file has no such thread */
	raw_put(&b, 0, 3, RAW_FORK, 0, 0, 1); /* itself */
	raw_put(&b, 0, 4, RAW_FORK, 3, 0, 1);
	raw_put(&b, 0, 5, RAW_FORK, 3, 0, 1); /* again */
	raw_put(&b, 3, 6, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 7, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 8, RAW_JOIN, 3, 0, 1);
	raw_put(&b, 0, 9, RAW_JOIN, 3, 0, 1);
	expect("T0 fork 1\nT0 fork 3\nT3 w 0\nT0 w 0\nT0 join 3\n");
}

static void no_events(void **state)
{
	(void)state;
	expect("");
	assert_true(has_name(NAMES_NOTE, "recorded 1"));
	assert_true(has_name(NAMES_NOTE, "unshared 0"));
}

/* If a unit makes no sense, the rest of its thread is left out, and a note says so. */
static void broken_units(void **state)
{
	(void)state;
	raw_put(&b, 0, 1, RAW_WRITE, A, 8, 1);
	raw_put(&b, 0, 2, RAW_OPS, A, 8, 1);
	raw_put(&b, 0, 3, RAW_WRITE, A, 8, 1);
	raw_put(&b, 1, 4, RAW_WRITE, A, 8, 1);
	raw_put(&b, 1, 5, RAW_LABEL, A, 255, 1); /* more text than fits into the chunk */
	raw_put(&b, 1, 6, RAW_WRITE, A, 8, 1);
	for (int i = 0; i < 8; i++)
		raw_put(&b, 1, 6, RAW_WRITE, A, 8, 1);
	expect("T0 w 0\nT1 w 0\n");
	assert_true(has_name(NAMES_NOTE, "lost the rest of 2 threads: it makes no sense"));
}

static void deep(void **state)
{
	struct str want = STR_INIT;

	(void)state;
	raw_put(&b, 1, 0, RAW_WRITE, A, 8, 1);
	for (uint32_t i = 0; i < 100; i++)
		raw_put(&b, 0, 1, RAW_CALL, 0x100, 0, 1);
	for (uint32_t i = 0; i < 50; i++)
		raw_put(&b, 0, 2, RAW_BARRIER, LOCK, 0, 1);
	for (uint32_t i = 0; i < 100; i++)
		raw_put(&b, 0, 3, RAW_RETURN, 0, 0, 1);
	for (uint32_t i = 0; i < 100; i++)
		str_add(&want, "T0 begin f ?+0x100\n");
	for (uint32_t i = 0; i < 100; i++)
		str_add(&want, "T0 end cut\n");
	for (uint32_t i = 0; i < 50; i++)
		str_add(&want, "T0 barrier 0\n");
	expect(want.s);
	str_free(&want);
}

/* --- files that are not recordings --- */

static void refused(size_t size, const char *why)
{
	struct reader_options o = {.rewindable = true};
	struct err err = {0}, again = {0};
	struct event ev[READER_BATCH];
	struct reader *r;
	char want[300];

	spit(fixture_path("bad"), file.s, size);
	snprintf(want, sizeof want, "%s: %s", fixture_path("bad"), why);
	r = reader_open(fixture_path("bad"), &o, &err);
	assert_non_null(r);
	assert_int_equal(reader_next(r, ev, &err), -1);
	assert_string_equal(err.text, want);
	assert_int_equal(reader_rewind(r, &err), 0);
	assert_int_equal(reader_next(r, ev, &again), -1);
	assert_string_equal(again.text, want);
	reader_close(r);
}

static struct raw_chunk *chunk_at(size_t page)
{
	return (struct raw_chunk *)(void *)(file.s + page * RAW_PAGE);
}

static void malformed(void **state)
{
	struct raw_header *h;

	(void)state;
	raw_put(&b, 0, 1, RAW_BARRIER, A, 8, 1);
	raw_put(&b, 1, 1, RAW_BARRIER, A, 8, 1);
	raw_assemble(&b, &file);
	refused(8, "offset 8: the recording is cut off in its header");
	refused(4095, "offset 4095: the recording is cut off in its header");
	chunk_at(2)->bytes = 2 * RAW_PAGE;
	refused(file.n, "offset 12288: the recording is cut off in a chunk");
	chunk_at(2)->bytes = RAW_PAGE + 16;
	refused(file.n, "offset 8192: no chunk begins here");
	chunk_at(2)->bytes = 0;
	refused(file.n, "offset 8192: no chunk begins here");
	chunk_at(2)->bytes = 2 * RAW_CHUNK_MAX;
	refused(file.n, "offset 8192: no chunk begins here");
	chunk_at(2)->bytes = RAW_PAGE;
	chunk_at(1)->magic++;
	refused(file.n, "offset 4096: no chunk begins here");
	chunk_at(1)->magic--;
	chunk_at(1)->thread = UINT32_MAX;
	refused(file.n, "offset 4096: a chunk has the impossible thread number 4294967295");
	chunk_at(1)->thread = 0;
	h = (struct raw_header *)(void *)file.s;
	h->command = RAW_PAGE;
	refused(file.n, "offset 288: the command line does not fit the header");
	h->command = 0;
	h->version = 7;
	refused(file.n, "offset 8: the recording has version 7; this atomsan reads version 2");
}

static size_t events_in(size_t size)
{
	struct str out = STR_INIT;
	struct err err = {0};
	size_t n;

	spit(fixture_path("cut"), file.s, size);
	n = read_all(fixture_path("cut"), (struct reader_options){0}, &out, &err);
	assert_string_equal(err.text, "");
	str_free(&out);
	return n;
}

/* Pages without a chunk are skipped; a missing chunk ends its thread. */
static void odd_chunks(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		raw_put(&b, 0, i, RAW_BARRIER, A, 8, 1);
		raw_cut_chunk(&b, 0);
	}
	raw_assemble(&b, &file); /* chunks 3, 2, 1, 0 */
	assert_int_equal(events_in(file.n), 3);
	assert_int_equal(events_in(file.n - 1), 0); /* chunk 0 is cut off */
	chunk_at(3)->magic = 0;
	assert_int_equal(events_in(file.n), 1);
	chunk_at(3)->magic = RAW_CHUNK_MAGIC;
	chunk_at(3)->number = 2;
	assert_int_equal(events_in(file.n), 1);
	chunk_at(3)->number = 1;
	str_addn(&file, "left over", 9);
	assert_int_equal(events_in(file.n), 3);
}

/* A chunk that is there twice counts once: the first in the file, or the other if that is empty. */
static void repeated_chunk(void **state)
{
	struct raw_unit *unit;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		raw_put(&b, 0, i, RAW_BARRIER, A, 8, 1);
		if (i == 1) /* two units in this chunk */
			raw_put(&b, 0, i, RAW_BARRIER, A, 8, 1);
		raw_cut_chunk(&b, 0);
	}
	raw_assemble(&b, &file); /* chunks 4, 3, 2, 1, 0; the last is empty */
	assert_int_equal(events_in(file.n), 5);
	/* Chunk 2 becomes another chunk 1, and 3 becomes 2. */
	chunk_at(3)->number = 1;
	chunk_at(2)->number = 2;
	chunk_at(1)->number = 3;
	assert_int_equal(events_in(file.n), 3);
	unit = (struct raw_unit *)(void *)(chunk_at(3) + 1);
	unit->what = 0;
	assert_int_equal(events_in(file.n), 4);
}

/* Which events units have become: a thread's last unit, other units, single bytes of a unit. */
static void units_sought(void **state)
{
	struct reader_unit units[] = {
		{.thread = 0},                                       /* its first read */
		{.thread = 0, .address = A + 5},                     /* its second read */
		{.thread = 0, .address = A + 8},                     /* not accessed */
		{.thread = 1},                                       /* its last unit */
		{.thread = 2},                                       /* there is no such thread */
		{.thread = 1, .op = RAW_WRITE, .time = 10, .pc = 1}, /* not its last unit */
		{.thread = 1, .op = RAW_WRITE, .time = 10, .pc = 2},
		{.thread = 1, .op = RAW_READ, .time = 10, .pc = 1},
		{.thread = 0, .op = RAW_READ, .time = 30, .pc = 2, .address = A + 4},
	};
	static const uint64_t want[] = {4, 5, 0, 2, 0, 1, 0, 0, 5};
	struct err err = {0};
	struct event ev[READER_BATCH];
	struct reader *r;

	(void)state;
	raw_put(&b, 1, 10, RAW_WRITE, A, 4, 1);
	raw_put(&b, 1, 11, RAW_WRITE, A + 4, 4, 1);
	raw_put(&b, 0, 20, RAW_CALL, 7, 0, 2);
	raw_put(&b, 0, 30, RAW_READ, A, 8, 2); /* a begin and two reads */
	r = open_built("x.raw");
	reader_set_units(r, units, sizeof units / sizeof *units);
	one_pass(r, &text);
	assert_string_equal(text.s, "T1 w 0\nT1 w 1\nT0 begin f ?+0x7\nT0 r 0\nT0 r 1\n");
	assert_int_equal(reader_rewind(r, &err), 0);
	assert_true(reader_next(r, ev, &err) > 0);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		assert_int_equal(units[i].event, want[i]);
	reader_close(r);

	/* A unit without events. */
	raw_put(&b, 1, 40, RAW_READ, A + 64, 4, 1);
	r = open_built("x.raw");
	reader_set_units(r, units, 4);
	one_pass(r, &text);
	assert_int_equal(units[0].event, 4);
	assert_int_equal(units[3].event, 0);
	reader_close(r);
}

/* In several batches: the number counts from the start. */
static void units_of_many(void **state)
{
	struct reader_unit units[] = {{.thread = 1}, {.thread = 0}};
	struct reader *r;

	(void)state;
	for (uint32_t i = 0; i < 3 * READER_BATCH; i++)
		raw_put(&b, i % 2, i, RAW_WRITE, A, 4, 1);
	r = open_built("x.raw");
	reader_set_units(r, units, 2);
	one_pass(r, &text);
	assert_int_equal(units[0].event, 3 * READER_BATCH);
	assert_int_equal(units[1].event, 3 * READER_BATCH - 1);
	reader_close(r);
}

static void modules_from_outside(void **state)
{
	static const struct reader_module m = {0x20000, "65536 - /a/b", 12};
	struct err err = {0};
	struct reader *r;

	(void)state;
	raw_put(&b, 1, 10, RAW_WRITE, A + 16, 4, 0x20100);
	raw_put(&b, 0, 20, RAW_WRITE, A + 16, 4, 0x20100);
	r = open_built("x.raw");
	reader_set_modules(r, &m, 1);
	for (int pass = 0; pass < 2; pass++) {
		struct str names = STR_INIT;

		one_pass(r, &text);
		describe_names(reader_names(r), &names);
		assert_non_null(strstr(names.s, ":module 1 0x20000 65536 - /a/b\n"));
		assert_non_null(strstr(names.s, ":g 1+0x10 4\n"));
		assert_non_null(strstr(names.s, ":0 1+0x100\n"));
		str_free(&names);
		assert_int_equal(reader_rewind(r, &err), 0);
	}
	reader_close(r);
}

/* A semaphore that is held at the end may be a lock if the program still runs. */
static void unfinished(void **state)
{
	struct reader_options o = {.unfinished = true};
	struct err err = {0};
	struct reader *r;

	(void)state;
	raw_put(&b, 0, 10, RAW_SEM_WAIT, LOCK, 0, 1);
	raw_put(&b, 0, 20, RAW_SEM_POST, LOCK, 0, 1);
	raw_put(&b, 0, 50, RAW_SEM_WAIT, LOCK, 0, 1);
	raw_put(&b, 1, 30, RAW_SEM_WAIT, LOCK, 0, 1);
	raw_put(&b, 1, 40, RAW_SEM_POST, LOCK, 0, 1);
	b.header.closed = 1;
	assert_false(has_name(NAMES_LOCK, "semaphore o 0x30000 1"));
	r = reader_open(fixture_path("x.raw"), &o, &err);
	assert_non_null(r);
	one_pass(r, &text);
	assert_string_equal(text.s, "T0 acq 0\nT0 rel 0\nT1 acq 0\nT1 rel 0\nT0 acq 0\n");
	reader_close(r);
}

/* Units that are added after the first pass do not exist. */
static void growing(void **state)
{
	struct raw_unit more = {A | (uint64_t)RAW_WRITE << 48 | 4ull << 56, 30};
	struct err err = {0};
	struct reader *r;
	off_t at;
	int fd;

	(void)state;
	raw_put(&b, 0, 10, RAW_WRITE, A, 4, 1);
	raw_put(&b, 1, 20, RAW_WRITE, A, 4, 1);
	r = open_built("x.raw");
	one_pass(r, &text);
	assert_string_equal(text.s, "T0 w 0\nT1 w 0\n");
	fd = open(fixture_path("x.raw"), O_WRONLY);
	at = RAW_PAGE + sizeof(struct raw_chunk) + sizeof more;
	assert_int_equal(pwrite(fd, &more, sizeof more, at), sizeof more);
	close(fd);
	assert_int_equal(reader_rewind(r, &err), 0);
	one_pass(r, &text);
	assert_string_equal(text.s, "T0 w 0\nT1 w 0\n");
	reader_close(r);
	r = reader_open(fixture_path("x.raw"), &(struct reader_options){0}, &err);
	one_pass(r, &text);
	assert_string_equal(text.s, "T0 w 0\nT1 w 0\nT0 w 0\n");
	reader_close(r);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(by_time),
		TEST(no_place),
		TEST(chunks),
		TEST(of_one_thread),
		TEST(halves),
		TEST(large_range),
		TEST(cuts),
		TEST(blocks),
		TEST(locks),
		TEST(locks_of_the_dead),
		TEST(semaphores),
		TEST(units_sought),
		TEST(units_of_many),
		TEST(modules_from_outside),
		TEST(unfinished),
		TEST(growing),
		TEST(reuse),
		TEST(freed_by_another),
		TEST(forgotten),
		TEST(values),
		TEST(high_program_counters),
		TEST(names_of_memory),
		TEST(threads_without_chunks),
		TEST(no_events),
		TEST(broken_units),
		TEST(deep),
		TEST(malformed),
		TEST(odd_chunks),
		TEST(repeated_chunk),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
