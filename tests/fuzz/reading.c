#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/reader.h"
#include "trace/recorded.h"
#include "trace/writer.h"

#include "base/banned.h"

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #cond);         \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A file in memory, and the path under which readers and writers open it. */
struct memfile {
	int fd;
	char path[32];
};

static void memfile_open(struct memfile *f)
{
	if (f->fd > 0)
		return;
	f->fd = memfd_create("fuzz", MFD_CLOEXEC);
	CHECK(f->fd > 0, "memfd_create failed");
	snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
}

/* One pass over a trace: its events, and the error that ended it, if any. */
struct pass {
	struct event *ev;
	size_t n, cap;
	struct err err;
};

/* Enough for every path; a small compressed file may have millions. */
enum { EVENTS_MAX = 200000 };

static void check_number(const struct names *names, enum names_kind kind, uint32_t id)
{
	CHECK(id < names->table[kind].n, "number %u of kind %d, there are %u", id, kind,
	      names->table[kind].n);
}

static void check_string(const struct names *names, strref ref)
{
	if (!(ref & STRREF_NUMBER))
		check_number(names, NAMES_STRING, ref);
}

static void check_event(const struct names *names, const struct event *e, bool may_drop)
{
	CHECK(e->op < OP_COUNT, "operation %u", e->op);
	CHECK(e->op != OP_NONE || may_drop || e->left_out, "an event was dropped");
	CHECK(e->value <= VALUE_MINUS_ONE, "the value is none");
	CHECK(!e->value || op_is_access((enum op)e->op), "an event that is no access has a value");
	CHECK(!e->left_out || (e->left_out <= LEFT_OUT_END && e->op == OP_NONE),
	      "a block is left out and there");
	CHECK(e->outer == OUTER_NONE || (e->outer == OUTER_BEGIN && e->op == OP_BEGIN) ||
		      (e->outer == OUTER_END && e->op == OP_END),
	      "operation %u is marked %u", e->op, e->outer);
	check_number(names, NAMES_THREAD, e->thread);
	check_string(names, e->place);
	switch (op_info[e->op].operand) {
	case OPERAND_NONE:
		break;
	case OPERAND_VAR:
		check_number(names, NAMES_VAR, e->operand);
		break;
	case OPERAND_LOCK:
	case OPERAND_SYNC:
		check_number(names, NAMES_LOCK, e->operand);
		break;
	case OPERAND_THREAD:
		check_number(names, NAMES_THREAD, e->operand);
		break;
	case OPERAND_LABEL:
		check_string(names, e->operand);
		break;
	}
}

static void check_counts(const struct reader *r, const struct pass *p, bool lenient)
{
	const struct reader_counts *c = reader_counts(r);
	uint64_t op[OP_COUNT] = {0};

	for (size_t i = 0; i < p->n; i++)
		op[p->ev[i].op]++;
	CHECK(c->events == p->n, "counted %llu of %zu", (unsigned long long)c->events, p->n);
	CHECK(!memcmp(op, c->op, sizeof op), "other operations were counted than delivered");
	CHECK(lenient || !c->skipped, "%llu skipped", (unsigned long long)c->skipped);
	CHECK(c->transactions <= c->blocks, "more transactions than blocks");
}

static void check_sentence(const struct err *err, const char *path)
{
	CHECK(err_is_set(err), "an error without a sentence");
	CHECK(!strncmp(err->text, path, strlen(path)), "does not say where: %s", err->text);
	CHECK(!strchr(err->text, '\n'), "more than one line: %s", err->text);
	CHECK(memchr(err->text, 0, sizeof err->text), "not terminated");
}

/* Reads to the end or to EVENTS_MAX; then calls the reader again, which must change nothing. */
static void read_all(struct reader *r, const char *path, const struct reader_options *o,
		     struct pass *p)
{
	bool may_drop = o->lenient || !o->keep_repeats;
	struct event batch[READER_BATCH];
	struct err again = {{0}};
	int n;

	p->n = 0;
	p->err.text[0] = 0;
	while ((n = reader_next(r, batch, &p->err)) > 0) {
		CHECK(n <= READER_BATCH, "%d events in a batch", n);
		CHECK(!err_is_set(&p->err), "events and an error");
		for (int i = 0; i < n; i++)
			check_event(reader_names(r), &batch[i], may_drop);
		MEM_GROW(p->ev, p->cap, p->n + (size_t)n);
		memcpy(p->ev + p->n, batch, (size_t)n * sizeof *batch);
		p->n += (size_t)n;
		if (p->n >= EVENTS_MAX)
			return;
	}
	if (n < 0)
		check_sentence(&p->err, path);
	else
		CHECK(!err_is_set(&p->err), "the end, with an error: %s", p->err.text);
	CHECK(reader_next(r, batch, &again) == n, "another answer when asked again");
	CHECK(!strcmp(again.text, p->err.text), "%s; then: %s", p->err.text, again.text);
	check_counts(r, p, o->lenient);
}

static void check_same(const struct pass *a, const struct pass *b, size_t n)
{
	CHECK(a->n >= n && b->n >= n, "%zu and %zu events, not %zu", a->n, b->n, n);
	for (size_t i = 0; i < n; i++)
		CHECK(!memcmp(&a->ev[i], &b->ev[i], sizeof *a->ev), "event %zu differs", i + 1);
}

/*
 * Reads the file twice, the second time into `p`. Returns the reader, still open; or
 * NULL if the file cannot be opened.
 */
static struct reader *read_twice(const char *path, bool lenient, bool keep_repeats, struct pass *p)
{
	struct reader_options o = {.count_ops = true,
				   .lenient = lenient,
				   .keep_repeats = keep_repeats,
				   .all_blocks = keep_repeats,
				   .rewindable = true};
	struct pass first = {0};
	struct err err = {{0}};
	struct reader *r = reader_open(path, &o, &err);

	if (!r) {
		check_sentence(&err, path);
		return NULL;
	}
	read_all(r, path, &o, &first);
	CHECK(!reader_rewind(r, &err), "%s", err.text);
	read_all(r, path, &o, p);
	CHECK(first.n == p->n, "%zu events, then %zu", first.n, p->n);
	check_same(&first, p, p->n);
	CHECK(!strcmp(first.err.text, p->err.text), "%s; then: %s", first.err.text, p->err.text);
	mem_free(first.ev);
	return r;
}

static void show(const struct names *names, const struct event *e, struct str *out)
{
	str_reset(out);
	str_add(out, names_thread(names, e->thread));
	str_fmt(out, "|%s(", op_info[e->op].spelling);
	names_add_operand(names, e, out);
	str_add(out, ")|");
	names_add_string(names, e->place, out);
}

/* Checks that the events have the same names after they are written as .atrace and read again. */
static void check_round_trip(struct reader *r, const struct pass *p)
{
	static struct memfile file;
	const struct names *names = reader_names(r), *names2;
	struct str a = STR_INIT, b = STR_INIT;
	struct reader_options o = {.count_ops = true, .keep_repeats = true, .all_blocks = true};
	struct pass back = {0};
	struct err err = {{0}};
	struct writer *w;

	memfile_open(&file);
	w = writer_open(file.path, TRACE_ATRACE, &err);
	CHECK(w, "%s", err.text);
	CHECK(!writer_put(w, names, p->ev, p->n, &err), "%s", err.text);
	CHECK(!writer_close(w, &err), "%s", err.text);

	r = reader_open(file.path, &o, &err);
	CHECK(r, "%s", err.text);
	read_all(r, file.path, &o, &back);
	CHECK(!err_is_set(&back.err), "what was written does not read: %s", back.err.text);
	CHECK(back.n == p->n, "%zu events written, %zu read", p->n, back.n);
	names2 = reader_names(r);
	for (size_t i = 0; i < p->n; i++) {
		show(names, &p->ev[i], &a);
		show(names2, &back.ev[i], &b);
		CHECK(a.n == b.n && !memcmp(a.s, b.s, a.n), "event %zu: wrote %s, read %s", i + 1,
		      a.s, b.s);
	}
	str_free(&a);
	str_free(&b);
	mem_free(back.ev);
	reader_close(r);
}

void reading_check(const uint8_t *data, size_t size)
{
	static struct memfile file;
	struct pass exact = {0}, plain = {0}, lenient = {0};
	struct reader *r, *r2, *r3;
	bool recorded;

	memfile_open(&file);
	CHECK(!ftruncate(file.fd, 0), "ftruncate failed");
	CHECK(pwrite(file.fd, data, size, 0) == (ssize_t)size, "pwrite failed");

	r = read_twice(file.path, false, true, &exact);
	r2 = read_twice(file.path, false, false, &plain);
	r3 = read_twice(file.path, true, true, &lenient);
	CHECK(!r == !r2 && !r == !r3, "opens in one way and not in another");
	if (getenv("FUZZ_EXPECT_EVENTS"))
		CHECK(r && exact.n && !err_is_set(&exact.err), "no events, or an error: %s",
		      exact.err.text);
	if (!r)
		return;
	recorded = recorded_names(reader_names(r));

	/* Only repeated acquires are dropped, and recorded functions that are not blocks. */
	CHECK(plain.n == exact.n, "%zu events, without repeats %zu", exact.n, plain.n);
	for (size_t i = 0; i < exact.n; i++) {
		struct event e = plain.ev[i];

		if (e.op == OP_NONE && op_is_lock(exact.ev[i].op))
			e.op = exact.ev[i].op;
		if (recorded && (exact.ev[i].op == OP_BEGIN || exact.ev[i].op == OP_END)) {
			if (e.left_out)
				e.op = exact.ev[i].op;
			e.left_out = 0;
			e.outer = exact.ev[i].outer;
		}
		CHECK(!memcmp(&e, &exact.ev[i], sizeof e), "event %zu differs", i + 1);
	}
	/* The lenient reader differs only from the first error on. */
	CHECK(lenient.n >= exact.n, "%zu events, leniently %zu", exact.n, lenient.n);
	check_same(&exact, &lenient, exact.n);
	if (!err_is_set(&exact.err))
		CHECK(lenient.n == exact.n && !reader_counts(r3)->skipped, "skipped something");

	if (exact.n)
		check_round_trip(r, &exact);

	reader_close(r);
	reader_close(r2);
	reader_close(r3);
	mem_free(exact.ev);
	mem_free(plain.ev);
	mem_free(lenient.ev);
}
