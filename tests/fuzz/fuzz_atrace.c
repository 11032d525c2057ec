/*
 * The .atrace format. This build does not compare checksums, because no mutation
 * would survive that. The mutator knows where chunks begin: half of the time it
 * changes one chunk and keeps the file around it valid.
 */
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#include "base/str.h"
#include "reading.h"
#include "trace/atrace_format.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	reading_check(data, size);
	return 0;
}

enum { PAYLOAD_MAX = 1 << 16 };

/* Reads the chunk at p: its header to c, its decompressed payload to buf; or returns false. */
static bool open_chunk(const uint8_t *p, const uint8_t *end, struct chunk *c, uint8_t *buf)
{
	size_t n;

	if ((size_t)(end - p) < CHUNK_HEADER)
		return false;
	memcpy(c, p, sizeof *c);
	if (c->stored > (size_t)(end - p) - CHUNK_HEADER || c->stored > PAYLOAD_MAX)
		return false;
	if (!(c->flags & CHUNK_ZSTD)) {
		memcpy(buf, p + CHUNK_HEADER, c->stored);
		c->raw = c->stored;
		return true;
	}
	n = ZSTD_decompress(buf, PAYLOAD_MAX, p + CHUNK_HEADER, c->stored);
	if (ZSTD_isError(n))
		return false;
	c->raw = (uint32_t)n;
	return true;
}

/*
 * Changes one chunk of the file: its payload, which is then stored uncompressed
 * with the right sizes, or in one of eight cases its header.
 */
static void mutate_chunk(struct str *out, const uint8_t *data, size_t size, unsigned seed)
{
	static uint8_t buf[PAYLOAD_MAX];
	const uint8_t *p = data + ATRACE_HEADER, *end = data + size, *next;
	unsigned n = 0, which;
	struct chunk c;

	for (next = p; open_chunk(next, end, &c, buf); next += CHUNK_HEADER + c.stored)
		n++;
	if (!n)
		return;
	which = seed / 16 % n;
	for (n = 0; n < which; n++) {
		memcpy(&c, p, sizeof c);
		p += CHUNK_HEADER + c.stored;
	}
	open_chunk(p, end, &c, buf);
	next = p + CHUNK_HEADER + c.stored;
	str_addn(out, (const char *)data, (size_t)(p - data));
	if (seed / 2 % 8 == 0) {
		memcpy(&c, p, sizeof c);
		LLVMFuzzerMutate((uint8_t *)&c, sizeof c, sizeof c);
		str_addn(out, (const char *)&c, sizeof c);
		str_addn(out, (const char *)p + CHUNK_HEADER, (size_t)(next - p) - CHUNK_HEADER);
	} else {
		c.raw = (uint32_t)LLVMFuzzerMutate(buf, c.raw, PAYLOAD_MAX);
		c.stored = c.raw;
		c.flags &= ~CHUNK_ZSTD;
		str_addn(out, (const char *)&c, sizeof c);
		str_addn(out, (const char *)buf, c.raw);
	}
	str_addn(out, (const char *)next, (size_t)(end - next));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct str out = STR_INIT;

	if (seed & 1 && size > ATRACE_HEADER)
		mutate_chunk(&out, data, size, seed);
	if (!out.n || out.n > max) {
		size = LLVMFuzzerMutate(data, size, max);
	} else {
		memcpy(data, out.s, out.n);
		size = out.n;
	}
	str_free(&out);
	return size;
}
