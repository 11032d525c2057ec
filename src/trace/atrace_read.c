#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "trace/atrace_format.h"
#include "trace/reader_impl.h"

#include "base/banned.h"

struct atrace {
	bool started;
	bool done;
	uint64_t delivered; /* number of events delivered so far */
	/* The chunk of events being delivered. */
	uint32_t n, at;
	const uint8_t *op, *value, *col[3];
	int width[3];
	uint32_t wide[4][READER_BATCH] __attribute__((aligned(16))); /* scratch */
	uint64_t chunk_offset;
	uint8_t *raw;
	size_t raw_cap;
	uint32_t names[NAMES_KINDS]; /* number of names read so far, in this pass */
	ZSTD_DCtx *zstd;
};

bool atrace_sniff(const char *p, size_t n)
{
	/* A file of fewer than 8 bytes that begins like this is a header cut off: no text does. */
	return n && !memcmp(p, ATRACE_MAGIC, n < 8 ? n : 8);
}

static void *atrace_create(struct reader *r)
{
	struct atrace *a = mem_zalloc(sizeof *a);

	(void)r;
	a->zstd = ZSTD_createDCtx();
	a->names[NAMES_STRING] = 1;
	return a;
}

static void atrace_destroy(struct reader *r)
{
	struct atrace *a = r->state;

	ZSTD_freeDCtx(a->zstd);
	mem_free(a->raw);
	mem_free(a);
}

static void atrace_rewind(struct reader *r)
{
	struct atrace *a = r->state;

	a->started = a->done = false;
	a->delivered = 0;
	a->n = a->at = 0;
	memset(a->names, 0, sizeof a->names);
	a->names[NAMES_STRING] = 1;
}

static void atrace_where(const struct reader *r, int i, struct str *out)
{
	str_fmt(out, "%s: event %llu", r->path,
		(unsigned long long)(r->counts.events + (uint64_t)i + 1));
}

/* Sets r->err; always returns false. */
static bool fail_at(struct reader *r, uint64_t offset, const char *what)
{
	err_fail(&r->err, "%s: offset %llu: %s", r->path, (unsigned long long)offset, what);
	return false;
}

/* The file ends too early, or its bytes cannot be read. Always returns false. */
static bool fail_cut_off(struct reader *r, const char *what)
{
	const struct atrace *a = r->state;

	err_fail(&r->err, "%s: offset %llu: %s%s; the %llu events before it were read", r->path,
		 (unsigned long long)(r->in.offset + r->in.avail),
		 err_is_set(&r->in.err) ? r->in.err.text : "the trace is cut off ",
		 err_is_set(&r->in.err) ? "" : what, (unsigned long long)a->delivered);
	return false;
}

static bool take_names(struct reader *r, const struct chunk *c, const uint8_t *p, uint64_t offset)
{
	struct atrace *a = r->state;
	uint32_t kind;
	const uint8_t *len = p + 4, *text, *end = p + c->raw;

	if (c->raw < 4 || c->count > (c->raw - 4) / 4)
		return fail_at(r, offset, "the table of names does not fit its chunk");
	memcpy(&kind, p, 4);
	if (kind >= NAMES_KINDS)
		return fail_at(r, offset, "a chunk has names of an unknown kind");
	text = len + 4 * (size_t)c->count;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t n;

		memcpy(&n, len + 4 * (size_t)i, 4);
		if (n > (size_t)(end - text))
			return fail_at(r, offset, "a name is longer than its chunk");
		if (memchr(text, 0, n))
			return fail_at(r, offset, "a name contains a NUL byte");
		/* After a rewind the tables already have them. */
		if (a->names[kind]++ == r->names.table[kind].n)
			table_append(&r->names.table[kind], (const char *)text, n);
		text += n;
	}
	return text == end || fail_at(r, offset, "extra bytes after the last name of a chunk");
}

static bool take_events(struct reader *r, const struct chunk *c, const uint8_t *p, uint64_t offset)
{
	struct atrace *a = r->state;
	size_t want = 4;

	if (c->raw < 4 || c->count > CHUNK_EVENTS_MAX)
		return fail_at(r, offset, "the events do not fit their chunk");
	for (int i = 0; i < 3; i++) {
		a->width[i] = p[i];
		if (p[i] != 0 && p[i] != 1 && p[i] != 2 && p[i] != 4)
			return fail_at(r, offset, "a column of events has an unknown width");
	}
	if (p[3] > 1)
		return fail_at(r, offset, "the column of values has an unknown width");
	a->op = p + want;
	want += c->count;
	for (int i = 0; i < 3; i++) {
		a->col[i] = p + want;
		want += (size_t)c->count * (size_t)a->width[i];
	}
	a->value = p[3] ? p + want : NULL;
	want += p[3] ? c->count : 0;
	if (want != c->raw)
		return fail_at(r, offset, "the events do not fit their chunk");
	a->n = c->count;
	a->at = 0;
	a->chunk_offset = offset;
	return true;
}

static bool take_done(struct reader *r, const struct chunk *c, const uint8_t *p, uint64_t offset)
{
	struct atrace *a = r->state;
	uint64_t events;

	if (c->raw != 8)
		return fail_at(r, offset, "the last chunk has the wrong size");
	memcpy(&events, p, 8);
	if (events != a->delivered)
		return fail_at(r, offset, "the number of events in the last chunk is wrong");
	a->done = true;
	if (input_need(&r->in, 1))
		return fail_at(r, r->in.offset, "extra bytes after the last chunk");
	if (err_is_set(&r->in.err))
		return fail_at(r, r->in.offset, r->in.err.text);
	return true;
}

/* Returns the chunk's bytes, decompressed; NULL, with r->err set, if they are damaged. */
static const uint8_t *unpack_payload(struct reader *r, const struct chunk *c, uint64_t offset)
{
	struct atrace *a = r->state;
	size_t got;

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	if (chunk_checksum(c, r->in.p) != c->checksum) {
		fail_at(r, offset, "the checksum of a chunk does not match its bytes");
		return NULL;
	}
#endif
	MEM_GROW(a->raw, a->raw_cap, (size_t)c->raw + INPUT_PAD);
	if (!(c->flags & CHUNK_ZSTD)) {
		memcpy(a->raw, r->in.p, c->raw);
		return a->raw;
	}
	got = ZSTD_decompressDCtx(a->zstd, a->raw, c->raw, r->in.p, c->stored);
	if (ZSTD_isError(got) || got != c->raw) {
		fail_at(r, offset, "the compressed bytes of a chunk are damaged");
		return NULL;
	}
	return a->raw;
}

static bool read_chunk(struct reader *r)
{
	uint64_t offset = r->in.offset;
	const uint8_t *p;
	struct chunk c;
	bool ok = true;

	if (!input_need(&r->in, CHUNK_HEADER))
		return fail_cut_off(r, "before its last chunk");
	if (r->in.avail < CHUNK_HEADER)
		return fail_cut_off(r, "in the middle of a chunk");
	memcpy(&c, r->in.p, sizeof c);
	if (c.stored > CHUNK_BYTES_MAX || c.raw > CHUNK_BYTES_MAX || c.zero ||
	    c.flags & ~(CHUNK_ZSTD | CHUNK_OPTIONAL) ||
	    (!(c.flags & CHUNK_ZSTD) && c.raw != c.stored))
		return fail_at(r, offset, "no chunk begins here");
	input_skip(&r->in, CHUNK_HEADER);
	if (input_need(&r->in, c.stored) < c.stored)
		return fail_cut_off(r, "in the middle of a chunk");
	p = unpack_payload(r, &c, offset);
	if (!p)
		return false;
	input_skip(&r->in, c.stored);
	switch (c.type) {
	case CHUNK_NAME:
		ok = take_names(r, &c, p, offset);
		break;
	case CHUNK_EVNT:
		ok = take_events(r, &c, p, offset);
		break;
	case CHUNK_DONE:
		ok = take_done(r, &c, p, offset);
		break;
	default:
		if (!(c.flags & CHUNK_OPTIONAL))
			ok = fail_at(r, offset,
				     "a chunk of an unknown type (a newer atomsan wrote it?)");
	}
	return ok;
}

static void read_header(struct reader *r)
{
	struct atrace *a = r->state;
	uint32_t version, zero;

	a->started = true;
	if (input_need(&r->in, ATRACE_HEADER) < ATRACE_HEADER) {
		fail_cut_off(r, "in its header");
		return;
	}
	memcpy(&version, r->in.p + 8, 4);
	if (version != ATRACE_VERSION) {
		err_fail(&r->err,
			 "%s: offset 8: the format has version %u; this atomsan reads version %u",
			 r->path, version, ATRACE_VERSION);
		return;
	}
	memcpy(&zero, r->in.p + 12, 4);
	if (zero) {
		fail_at(r, 12, "four bytes of the header must be zero and are not");
		return;
	}
	input_skip(&r->in, ATRACE_HEADER);
}

/* Copies n numbers of a column, from number `at` on, to 32 bits each. */
static void widen_column(uint32_t *to, const uint8_t *col, int width, uint32_t at, uint32_t n)
{
	col += (size_t)at * (size_t)width;
#define LOOP(type)                                                                                 \
	for (uint32_t i = 0; i < n; i++) {                                                         \
		type v;                                                                            \
		memcpy(&v, col + i * sizeof v, sizeof v);                                          \
		to[i] = v;                                                                         \
	}
	switch (width) {
	case 0:
		memset(to, 0, n * sizeof *to);
		break;
	case 1:
		LOOP(uint8_t)
		break;
	case 2:
		LOOP(uint16_t)
		break;
	default:
		LOOP(uint32_t)
	}
#undef LOOP
}

/*
 * Makes events of columns, four at a time: a transposition of 4 x 4 words. An
 * event's last word is its operation in the low byte, then zeros: the same as a
 * widened column of operations.
 */
static void interleave_columns(struct event *ev, uint32_t wide[4][READER_BATCH], uint32_t n)
{
	typedef uint32_t words __attribute__((vector_size(16)));
	_Static_assert(
		offsetof(struct event, thread) == 0 && offsetof(struct event, operand) == 4 &&
			offsetof(struct event, place) == 8 && offsetof(struct event, op) == 12,
		"columns and fields are in the same order");
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		words in[4], half[4], out[4];

		for (int k = 0; k < 4; k++)
			memcpy(&in[k], &wide[k][i], 16);
		half[0] = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
		half[1] = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
		half[2] = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
		half[3] = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
		out[0] = __builtin_shufflevector(half[0], half[2], 0, 1, 4, 5);
		out[1] = __builtin_shufflevector(half[0], half[2], 2, 3, 6, 7);
		out[2] = __builtin_shufflevector(half[1], half[3], 0, 1, 4, 5);
		out[3] = __builtin_shufflevector(half[1], half[3], 2, 3, 6, 7);
		memcpy(&ev[i], out, sizeof out);
	}
	for (; i < n; i++)
		ev[i] = (struct event){wide[0][i], wide[1][i], wide[2][i], (uint8_t)wide[3][i],
				       OUTER_NONE, 0,          0};
}

/* Returns how many events, from the first on, refer only to names that the tables have. */
static uint32_t count_named(const struct reader *r, const struct event *ev, uint32_t n)
{
	const struct atrace *a = r->state;
	const struct table *t = r->names.table;
	uint32_t threads = t[NAMES_THREAD].n, strings = t[NAMES_STRING].n, wrong = 0;
	const uint32_t limits[] = {
		[OPERAND_NONE] = 1,
		[OPERAND_VAR] = t[NAMES_VAR].n,
		[OPERAND_LOCK] = t[NAMES_LOCK].n,
		[OPERAND_SYNC] = t[NAMES_LOCK].n,
		[OPERAND_THREAD] = threads,
		[OPERAND_LABEL] = strings,
	};
	uint32_t limit[256] = {0};

	for (enum op op = OP_BEGIN; op < OP_COUNT; op++)
		limit[op] = limits[op_info[op].operand];
	limit[OP_END] = END_REASONS;
	/* A strref that is a number has the top bit set: as a signed number it is negative. */
	for (uint32_t i = 0; i < n; i++)
		wrong |= (a->wide[0][i] >= threads) | ((int32_t)a->wide[2][i] >= (int32_t)strings);
	for (uint32_t i = 0; i < n; i++)
		wrong |= a->wide[1][i] >= limit[ev[i].op] &&
			 !(ev[i].op == OP_BEGIN && a->wide[1][i] & STRREF_NUMBER);
	if (!wrong)
		return n;
	for (uint32_t i = 0; i < n; i++)
		if (a->wide[0][i] >= threads || (int32_t)a->wide[2][i] >= (int32_t)strings ||
		    (a->wide[1][i] >= limit[ev[i].op] &&
		     !(ev[i].op == OP_BEGIN && a->wide[1][i] & STRREF_NUMBER)))
			return i;
	return n;
}

/* Give the accesses their values; what is no value, or of no access, is not known. */
static void take_values(const struct atrace *a, struct event *ev, uint32_t n)
{
	const uint8_t *value = a->value + a->at;

	for (uint32_t i = 0; i < n; i++)
		if (op_is_access((enum op)ev[i].op) && value[i] <= VALUE_MINUS_ONE)
			ev[i].value = value[i];
}

static int atrace_next(struct reader *r, struct event *ev)
{
	struct atrace *a = r->state;
	uint32_t n, good;

	if (!a->started)
		read_header(r);
	while (a->at == a->n) {
		if (a->done || err_is_set(&r->err) || !read_chunk(r))
			return 0;
	}
	n = a->n - a->at < READER_BATCH ? a->n - a->at : READER_BATCH;
	for (int i = 0; i < 3; i++)
		widen_column(a->wide[i], a->col[i], a->width[i], a->at, n);
	widen_column(a->wide[3], a->op, 1, a->at, n);
	interleave_columns(ev, a->wide, n);
	if (a->value)
		take_values(a, ev, n);
	good = count_named(r, ev, n);
	if (good < n) {
		bool known = ev[good].op > OP_NONE && ev[good].op < OP_COUNT;

		err_fail(&r->err, "%s: offset %llu: event %llu of the trace %s", r->path,
			 (unsigned long long)a->chunk_offset,
			 (unsigned long long)(a->delivered + good + 1),
			 known ? "refers to a name that the tables do not have"
			       : "has an operation that this atomsan does not know");
		a->n = a->at + good;
	}
	a->at += good;
	a->delivered += good;
	return (int)good;
}

const struct format_ops format_atrace = {
	.name = "atrace",
	.create = atrace_create,
	.next = atrace_next,
	.rewind = atrace_rewind,
	.where = atrace_where,
	.destroy = atrace_destroy,
};
