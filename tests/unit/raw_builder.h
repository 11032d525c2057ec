/*
 * Builds raw recordings unit by unit, directly from trace/raw_format.h.
 *
 * The caller adds units thread by thread; raw_assemble() makes a file of them. A
 * chunk ends where raw_cut_chunk() was called, and is as small as possible.
 *
 * Included by: tests.
 */
#ifndef ATOMSAN_TESTS_RAW_BUILDER_H
#define ATOMSAN_TESTS_RAW_BUILDER_H

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/raw_format.h"

enum { RAW_BUILD_THREADS = 32, RAW_BUILD_CHUNKS = 64 };

struct raw_build {
	struct str units[RAW_BUILD_THREADS];
	size_t ends[RAW_BUILD_THREADS][RAW_BUILD_CHUNKS]; /* offsets in `units` where chunks end */
	uint32_t nchunks[RAW_BUILD_THREADS];
	struct raw_header header;
	const char *command;
};

static inline void raw_build_init(struct raw_build *b)
{
	*b = (struct raw_build){.header = {.version = RAW_VERSION, .pid = 1, .closed = 1}};
	memcpy(b->header.magic, RAW_MAGIC, 8);
}

static inline void raw_build_free(struct raw_build *b)
{
	for (int t = 0; t < RAW_BUILD_THREADS; t++)
		if (b->units[t].s)
			str_free(&b->units[t]);
}

static inline void raw_words(struct raw_build *b, uint32_t thread, uint64_t what, uint64_t when)
{
	struct raw_unit u = {what, when};

	if (!b->units[thread].s)
		b->units[thread] = (struct str)STR_INIT;
	str_addn(&b->units[thread], (const char *)&u, sizeof u);
}

static inline void raw_put(struct raw_build *b, uint32_t thread, uint32_t time, uint32_t op,
			   uint64_t address, uint32_t aux, uint32_t pc)
{
	raw_words(b, thread,
		  (address & RAW_ADDRESS_MASK) | (uint64_t)op << 48 | (uint64_t)aux << 56,
		  time | (uint64_t)pc << 32);
}

static inline void raw_put_size(struct raw_build *b, uint32_t thread, uint32_t time, uint32_t op,
				uint64_t address, uint64_t size, uint32_t pc)
{
	raw_put(b, thread, time, op, address, 0, pc);
	raw_words(b, thread, size, 0);
}

static inline void raw_put_text(struct raw_build *b, uint32_t thread, uint32_t time, uint32_t op,
				uint64_t address, const char *text)
{
	size_t n = strlen(text), units = (n + 15) / 16;

	raw_put(b, thread, time, op, address, (uint32_t)units, 0);
	for (size_t i = 0; i < units; i++) {
		char part[16] = {0};
		uint64_t word[2];

		memcpy(part, text + 16 * i, n - 16 * i < 16 ? n - 16 * i : 16);
		memcpy(word, part, 16);
		raw_words(b, thread, word[0], word[1]);
	}
}

/* Ends the thread's chunk: its next unit goes into another. */
static inline void raw_cut_chunk(struct raw_build *b, uint32_t thread)
{
	if (b->nchunks[thread] + 1 < RAW_BUILD_CHUNKS)
		b->ends[thread][b->nchunks[thread]++] = b->units[thread].n;
}

static inline void raw_pad(struct str *out)
{
	while (out->n % RAW_PAGE)
		str_addc(out, 0);
}

static inline void raw_add_chunk(struct str *out, uint32_t thread, uint32_t number,
				 const char *units, size_t n)
{
	struct raw_chunk c = {.magic = RAW_CHUNK_MAGIC, .thread = thread, .number = number};

	c.bytes = (uint32_t)((sizeof c + n + RAW_PAGE - 1) / RAW_PAGE * RAW_PAGE);
	str_addn(out, (const char *)&c, sizeof c);
	if (n)
		str_addn(out, units, n);
	raw_pad(out);
}

/*
 * Chunks with higher numbers come first in the file, and the threads take turns: the order of
 * chunks in the file must not matter.
 */
static inline void raw_assemble(struct raw_build *b, struct str *out)
{
	str_reset(out);
	b->header.command = b->command ? (uint32_t)strlen(b->command) + 1 : 0;
	str_addn(out, (const char *)&b->header, sizeof b->header);
	if (b->command)
		str_addn(out, b->command, b->header.command);
	raw_pad(out);
	for (uint32_t k = RAW_BUILD_CHUNKS; k-- > 0;)
		for (uint32_t t = 0; t < RAW_BUILD_THREADS; t++) {
			size_t from = k ? b->ends[t][k - 1] : 0;
			size_t to = k < b->nchunks[t] ? b->ends[t][k] : b->units[t].n;

			if (b->units[t].s && k <= b->nchunks[t])
				raw_add_chunk(out, t, k, b->units[t].s + from, to - from);
		}
}

#endif
