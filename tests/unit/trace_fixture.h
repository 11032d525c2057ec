/*
 * What the tests of the readers and writers share: traces in memory, made by hand
 * or at random; a folder for their files; and the rules of what can happen, as a
 * second, simplest implementation.
 *
 * Included by: tests/unit/test_trace_*.c, after cmocka.h.
 */
#ifndef ATOMSAN_TESTS_TRACE_FIXTURE_H
#define ATOMSAN_TESTS_TRACE_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/atrace_format.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define N(v) (sizeof(v) / sizeof((v)[0]))

/* splitmix64: the same numbers on every machine, so that a seed reproduces a failure. */
struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(rng_next(r) % n);
}

/* A temporary folder for the test; it is removed at the end, with the files of failed tests. */
static char fixture_dir[] = "/tmp/atomsan-test-XXXXXX";

static inline int fixture_setup(void **state)
{
	(void)state;
	return mkdtemp(fixture_dir) ? 0 : -1;
}

static inline int fixture_teardown(void **state)
{
	DIR *dir = opendir(fixture_dir);

	(void)state;
	for (struct dirent *d; dir && (d = readdir(dir));)
		unlinkat(dirfd(dir), d->d_name, 0); /* except "." and ".." */
	if (dir)
		closedir(dir);
	return rmdir(fixture_dir);
}

/* Returns a path in it; the fourth call after this one overwrites it. */
static inline const char *fixture_path(const char *name)
{
	static char path[4][256];
	static int at;
	char *p = path[at++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", fixture_dir, name);
	return p;
}

static inline void spit(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static inline void slurp(const char *path, struct str *out)
{
	char buf[65536];
	size_t n;
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	str_reset(out);
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		str_addn(out, buf, n);
	fclose(f);
}

/* A trace in memory. */
struct trace {
	struct names names;
	struct event *ev;
	size_t n, cap;
};

static inline void trace_init(struct trace *t)
{
	*t = (struct trace){0};
	names_init(&t->names);
}

static inline void trace_free(struct trace *t)
{
	names_free(&t->names);
	mem_free(t->ev);
}

/* Returns the strref of a label or place; "" is none. */
static inline strref trace_string(struct trace *t, const char *s)
{
	char padded[128] = {0};

	snprintf(padded, sizeof padded - 16, "%s", s);
	return *s ? names_string(&t->names, padded, strlen(padded)) : 0;
}

static inline uint32_t trace_operand(struct trace *t, enum op op, const char *s)
{
	static const enum names_kind kind[] = {
		[OPERAND_VAR] = NAMES_VAR,
		[OPERAND_LOCK] = NAMES_LOCK,
		[OPERAND_SYNC] = NAMES_LOCK,
		[OPERAND_THREAD] = NAMES_THREAD,
	};
	enum operand_kind k = op_info[op].operand;

	if (k == OPERAND_NONE)
		return 0;
	if (k == OPERAND_LABEL)
		return trace_string(t, s);
	return table_intern_any(&t->names.table[kind[k]], s, strlen(s));
}

static inline struct event trace_event(struct trace *t, const char *thread, enum op op,
				       const char *operand, const char *place)
{
	struct event e = {.op = (uint8_t)op};

	e.thread = table_intern_any(&t->names.table[NAMES_THREAD], thread, strlen(thread));
	e.operand = trace_operand(t, op, operand);
	e.place = trace_string(t, place);
	return e;
}

static inline void trace_add(struct trace *t, struct event e)
{
	MEM_GROW(t->ev, t->cap, t->n + 1);
	t->ev[t->n++] = e;
}

/* Writes the trace with `batch` events in each call; 0: all at once. */
static inline void trace_write(const struct trace *t, const char *path, enum trace_format format,
			       size_t batch)
{
	struct err err = {0};
	struct writer *w = writer_open(path, format, &err);

	assert_non_null(w);
	for (size_t i = 0; i < t->n; i += batch) {
		if (!batch || t->n - i < batch)
			batch = t->n - i;
		assert_int_equal(writer_put(w, &t->names, t->ev + i, batch, &err), 0);
	}
	assert_int_equal(writer_close(w, &err), 0);
	assert_string_equal(err.text, "");
}

/* Parts of an .atrace, made directly from atrace_format.h, without the writer. */
static inline void put_u32(struct str *s, uint32_t v)
{
	str_addn(s, (const char *)&v, 4);
}

static inline void put_header(struct str *file)
{
	str_addn(file, ATRACE_MAGIC, 8);
	put_u32(file, ATRACE_VERSION);
	put_u32(file, 0);
}

static inline void put_chunk(struct str *file, uint32_t type, uint32_t flags, uint32_t count,
			     const struct str *payload)
{
	struct chunk c = {.type = type,
			  .flags = flags,
			  .stored = (uint32_t)payload->n,
			  .raw = (uint32_t)payload->n,
			  .count = count};

	c.checksum = chunk_checksum(&c, payload->s);
	str_addn(file, (const char *)&c, sizeof c);
	str_addn(file, payload->s, payload->n);
}

/*
 * Adds an event as a line of text, so that traces whose names have different numbers
 * can be compared. It has the lengths of names, because they may have any bytes.
 */
static inline void describe_event(const struct names *names, const struct event *e, struct str *out)
{
	const struct table *t = &names->table[NAMES_THREAD];

	assert_true(e->thread < t->n);
	assert_int_equal(strlen(t->text[e->thread]), t->len[e->thread]);
	str_fmt(out, "%u ", t->len[e->thread]);
	str_addn(out, t->text[e->thread], t->len[e->thread]);
	str_fmt(out, "|%s(", op_info[e->op].spelling);
	if (e->op != OP_NONE)
		names_add_operand(names, e, out);
	str_add(out, ")|");
	names_add_string(names, e->place, out);
	str_addc(out, '\n');
}

static inline void describe_all(const struct trace *t, struct str *out)
{
	str_reset(out);
	for (size_t i = 0; i < t->n; i++)
		describe_event(&t->names, &t->ev[i], out);
}

/*
 * Reads the rest of the trace as text. Returns the number of events; `err` is the
 * error, or empty. Another call after the end must give the same answer.
 */
static inline size_t read_on(struct reader *r, struct str *out, struct err *err)
{
	static struct event ev[READER_BATCH];
	struct err again = {0};
	size_t events = 0;
	int n;

	str_reset(out);
	err->text[0] = 0;
	while ((n = reader_next(r, ev, err)) > 0) {
		assert_true(n <= READER_BATCH);
		assert_string_equal(err->text, "");
		for (int i = 0; i < n; i++)
			describe_event(reader_names(r), &ev[i], out);
		events += (size_t)n;
	}
	assert_int_equal(n < 0, err_is_set(err));
	assert_int_equal(reader_counts(r)->events, events);
	assert_int_equal(reader_next(r, ev, &again), n);
	assert_string_equal(again.text, err->text);
	return events;
}

static inline size_t read_all(const char *path, struct reader_options options, struct str *out,
			      struct err *err)
{
	struct reader *r = reader_open(path, &options, err);
	size_t events;

	assert_non_null(r);
	events = read_on(r, out, err);
	reader_close(r);
	return events;
}

/*
 * The rules of reader.h without any of the reader's optimisations: small tables
 * indexed by thread and lock.
 */
enum { RULES_THREADS = 16, RULES_LOCKS = 8 };
enum ruling { FINE, REPEAT, IMPOSSIBLE };

struct rules {
	struct {
		bool ran, forked, joined;
		uint32_t depth;
	} thread[RULES_THREADS];
	uint32_t held[RULES_LOCKS][RULES_THREADS];   /* number of exclusive acquires */
	uint32_t shared[RULES_LOCKS][RULES_THREADS]; /* number of shared acquires */
	struct reader_counts counts;
};

/* Returns whether a thread other than `but` holds the lock in that way. */
static inline bool held_by_other(const uint32_t held[RULES_THREADS], uint32_t but)
{
	for (uint32_t t = 0; t < RULES_THREADS; t++)
		if (t != but && held[t])
			return true;
	return false;
}

static inline enum ruling rules_lock(struct rules *r, const struct event *e)
{
	uint32_t *held = r->held[e->operand], *shared = r->shared[e->operand], me = e->thread;

	switch (e->op) {
	case OP_ACQUIRE:
		if (held_by_other(held, me) || held_by_other(shared, me) || shared[me])
			return IMPOSSIBLE;
		return held[me]++ ? REPEAT : FINE;
	case OP_ACQUIRE_SHARED:
		if (held_by_other(held, me) || held[me])
			return IMPOSSIBLE;
		return shared[me]++ ? REPEAT : FINE;
	case OP_RELEASE:
		if (!held[me])
			return IMPOSSIBLE;
		return --held[me] ? REPEAT : FINE;
	default:
		if (!shared[me])
			return IMPOSSIBLE;
		return --shared[me] ? REPEAT : FINE;
	}
}

static inline enum ruling rules_judge(struct rules *r, const struct event *e)
{
	if (r->thread[e->thread].joined)
		return IMPOSSIBLE;
	if (op_is_lock(e->op))
		return rules_lock(r, e);
	switch (e->op) {
	case OP_BEGIN:
		r->thread[e->thread].depth++;
		return FINE;
	case OP_END:
		if (!r->thread[e->thread].depth)
			return IMPOSSIBLE;
		r->thread[e->thread].depth--;
		return FINE;
	case OP_FORK:
		if (e->operand == e->thread || r->thread[e->operand].ran ||
		    r->thread[e->operand].forked || r->thread[e->operand].joined)
			return IMPOSSIBLE;
		r->thread[e->operand].forked = true;
		return FINE;
	case OP_JOIN:
		if (e->operand == e->thread)
			return IMPOSSIBLE;
		r->thread[e->operand].joined = true;
		return FINE;
	default:
		return FINE;
	}
}

static inline enum ruling rules_take(struct rules *r, const struct event *e)
{
	enum ruling ruling = rules_judge(r, e);

	/* An impossible event did not happen. */
	r->thread[e->thread].ran |= ruling != IMPOSSIBLE;
	if (ruling == FINE && e->op == OP_BEGIN) {
		r->counts.blocks++;
		r->counts.transactions += r->thread[e->thread].depth == 1;
	}
	r->counts.repeats += ruling == REPEAT;
	r->counts.skipped += ruling == IMPOSSIBLE;
	return ruling;
}

#endif
