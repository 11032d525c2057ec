#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/atrace_format.h"
#include "trace/writer_impl.h"

#include "base/banned.h"

/*
 * 32768 events are about 200 KiB by column: they stay in a second-level cache
 * while they are compressed and decompressed. Level 1 compresses them to a few
 * bytes an event; higher levels gain little on columns and cost much. Short
 * matches (fewer than 7 bytes) and distant ones cost more time than they save
 * space: without them a file is a tenth larger and decompresses in two thirds of
 * the time.
 */
enum { CHUNK_EVENTS = 32768, NAMES_BYTES = 1 << 18, LEVEL = 1, MIN_MATCH = 7, HASH_LOG = 10 };

struct atrace {
	bool started;
	uint64_t events;
	uint32_t n;
	struct event pending[CHUNK_EVENTS];
	const struct names *known;   /* of the last put */
	uint32_t names[NAMES_KINDS]; /* number of names in the file so far */
	struct str raw;
	char *packed;
	size_t packed_cap;
	ZSTD_CCtx *zstd;
};

static void *atrace_create(struct writer *w)
{
	struct atrace *a = mem_zalloc(sizeof *a);

	(void)w;
	a->raw = (struct str)STR_INIT;
	a->names[NAMES_STRING] = 1; /* "" is in every table, and not in the file */
	a->zstd = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(a->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(a->zstd, ZSTD_c_minMatch, MIN_MATCH);
	ZSTD_CCtx_setParameter(a->zstd, ZSTD_c_hashLog, HASH_LOG);
	return a;
}

static int put_chunk(struct writer *w, uint32_t type, uint32_t count, struct err *err)
{
	struct atrace *a = w->state;
	struct chunk c = {.type = type, .count = count, .raw = (uint32_t)a->raw.n};
	const char *p = a->raw.s;
	size_t packed;

	MEM_GROW(a->packed, a->packed_cap, ZSTD_compressBound(a->raw.n));
	packed = ZSTD_compress2(a->zstd, a->packed, a->packed_cap, a->raw.s, a->raw.n);
	if (!ZSTD_isError(packed) && packed < a->raw.n) {
		c.flags = CHUNK_ZSTD;
		c.stored = (uint32_t)packed;
		p = a->packed;
	} else {
		c.stored = c.raw;
	}
	c.checksum = chunk_checksum(&c, p);
	if (output_write(&w->out, &c, sizeof c, err))
		return -1;
	return output_write(&w->out, p, c.stored, err);
}

static void add_u32(struct str *s, uint32_t v)
{
	str_addn(s, (const char *)&v, 4);
}

/* Writes the names that the file does not have yet. */
static int put_names(struct writer *w, struct err *err)
{
	struct atrace *a = w->state;
	const struct names *names = a->known;

	for (uint32_t kind = 0; kind < NAMES_KINDS; kind++) {
		const struct table *t = &names->table[kind];

		while (a->names[kind] < t->n) {
			uint32_t first = a->names[kind], last = first;
			size_t bytes = 0;

			do
				bytes += 4 + t->len[last++];
			while (last < t->n && bytes < NAMES_BYTES);
			str_reset(&a->raw);
			add_u32(&a->raw, kind);
			for (uint32_t i = first; i < last; i++)
				add_u32(&a->raw, t->len[i]);
			for (uint32_t i = first; i < last; i++)
				str_addn(&a->raw, t->text[i], t->len[i]);
			if (a->raw.n > CHUNK_BYTES_MAX)
				return err_fail(err, "%s: a name is longer than %d bytes",
						w->out.file.path, CHUNK_BYTES_MAX);
			if (put_chunk(w, CHUNK_NAME, last - first, err))
				return -1;
			a->names[kind] = last;
		}
	}
	return 0;
}

static void add_column(struct str *raw, const struct event *ev, uint32_t n, size_t field, int width)
{
	char *to;

	str_room(raw, (size_t)n * (size_t)width);
	to = raw->s + raw->n;
	/* Little-endian: the low bytes come first, whatever the width. */
	for (uint32_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * (size_t)width, (const char *)&ev[i] + field, (size_t)width);
	raw->n += (size_t)n * (size_t)width;
}

static int width_of(uint32_t all_bits)
{
	return !all_bits ? 0 : all_bits < 1u << 8 ? 1 : all_bits < 1u << 16 ? 2 : 4;
}

static int put_events(struct writer *w, struct err *err)
{
	struct atrace *a = w->state;
	const struct event *ev = a->pending;
	uint32_t thread = 0, operand = 0, place = 0, value = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		thread |= ev[i].thread;
		operand |= ev[i].operand;
		place |= ev[i].place;
		value |= ev[i].value;
	}
	str_reset(&a->raw);
	str_addc(&a->raw, (char)width_of(thread));
	str_addc(&a->raw, (char)width_of(operand));
	str_addc(&a->raw, (char)width_of(place));
	str_addc(&a->raw, (char)width_of(value));
	add_column(&a->raw, ev, a->n, offsetof(struct event, op), 1);
	add_column(&a->raw, ev, a->n, offsetof(struct event, thread), width_of(thread));
	add_column(&a->raw, ev, a->n, offsetof(struct event, operand), width_of(operand));
	add_column(&a->raw, ev, a->n, offsetof(struct event, place), width_of(place));
	add_column(&a->raw, ev, a->n, offsetof(struct event, value), width_of(value));
	if (put_chunk(w, CHUNK_EVNT, a->n, err))
		return -1;
	a->events += a->n;
	a->n = 0;
	return 0;
}

static int put_header(struct writer *w, struct err *err)
{
	struct atrace *a = w->state;
	char header[ATRACE_HEADER] = ATRACE_MAGIC;
	uint32_t version = ATRACE_VERSION;

	a->started = true;
	memcpy(header + 8, &version, 4);
	return output_write(&w->out, header, sizeof header, err);
}

static int atrace_put(struct writer *w, const struct names *names, const struct event *ev, size_t n,
		      struct err *err)
{
	struct atrace *a = w->state;

	if (!a->started && put_header(w, err))
		return -1;
	a->known = names;
	for (size_t i = 0; i < n; i++) {
		if (ev[i].op == OP_NONE)
			continue;
		a->pending[a->n++] = ev[i];
		if (a->n == CHUNK_EVENTS && (put_names(w, err) || put_events(w, err)))
			return -1;
	}
	return 0;
}

static int atrace_finish(struct writer *w, struct err *err)
{
	struct atrace *a = w->state;

	if (!a->started && put_header(w, err))
		return -1;
	if (a->known && put_names(w, err))
		return -1;
	if (a->n && put_events(w, err))
		return -1;
	str_reset(&a->raw);
	str_addn(&a->raw, (const char *)&a->events, 8);
	return put_chunk(w, CHUNK_DONE, 0, err);
}

static void atrace_destroy(struct writer *w)
{
	struct atrace *a = w->state;

	ZSTD_freeCCtx(a->zstd);
	str_free(&a->raw);
	mem_free(a->packed);
	mem_free(a);
}

const struct writer_ops writer_atrace = {
	.create = atrace_create,
	.put = atrace_put,
	.finish = atrace_finish,
	.destroy = atrace_destroy,
};
