/*
 * Raw recordings. Bytes that begin as one are taken as they are; any others
 * are a recipe, 8 bytes a unit, for one whose chunks are sound: no such
 * recording may be refused, whatever its threads are said to have done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/raw_builder.h"
#include "reading.h"
#include "trace/reader.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THREADS = 8, STEP = 8 };

/* Near each other, on two pages, on the stacks, at both ends of the address space. */
static const uint64_t places[8] = {
	0x10000, 0x10ff0, 0x5555000, 0x7fff0000, 0x7fffffff0000, 0x7fffffffff80, 0xffffffffff80, 0,
};
static const uint64_t sizes[8] = {0, 1, 8, 100, 4096, 70000, 1ull << 33, UINT64_MAX};

static void add_unit(struct raw_build *b, const uint8_t p[STEP], uint32_t *clock)
{
	static const char text[] = "8192 0123456789abcdef /a/program";
	uint32_t op = p[0], thread = p[1] % THREADS, aux = p[2], pc = 0x1000u + p[7] % 16;
	uint64_t address = places[p[3] % 8] + p[4];

	*clock += (uint32_t)(int8_t)p[6];
	switch (op) {
	case RAW_NONE:
		raw_cut_chunk(b, thread);
		return;
	case RAW_START:
	case RAW_READ_RANGE:
	case RAW_WRITE_RANGE:
	case RAW_ALLOC:
	case RAW_FORGET:
		raw_put_size(b, thread, *clock, op, address, sizes[p[5] % 8] + aux, pc);
		return;
	case RAW_LABEL:
	case RAW_MODULE:
	case RAW_NAME:
		raw_put_text(b, thread, *clock, op, op == RAW_LABEL ? p[4] % 4 : address,
			     text + p[5] % sizeof text);
		return;
	case RAW_FORK:
	case RAW_JOIN:
	case RAW_BEGIN:
		raw_put(b, thread, *clock, op, p[4] % (THREADS + 1), aux, pc);
		return;
	default:
		raw_put(b, thread, *clock, op, address, aux, pc);
	}
}

/* Read to the end: nothing may be wrong with it. */
static void must_read(const struct str *file)
{
	static int fd = -1;
	static char path[32];
	struct reader_options o = {.keep_repeats = true, .all_blocks = true};
	static struct event ev[READER_BATCH];
	struct err err = {{0}};
	struct reader *r;
	uint64_t events = 0;
	int n = 0;

	if (fd < 0)
		fd = memfd_create("raw", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (ftruncate(fd, 0) || pwrite(fd, file->s, file->n, 0) != (ssize_t)file->n)
		abort();
	r = reader_open(path, &o, &err);
	while (r && events < 200000 && (n = reader_next(r, ev, &err)) > 0)
		events += (uint64_t)n;
	if (!r || n < 0) {
		fprintf(stderr, "a sound recording is refused: %s\n", err.text);
		abort();
	}
	reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str file = STR_INIT;
	struct raw_build *b;
	uint32_t clock = 1000;

	if (!size || data[0] == 0x89) {
		reading_check(data, size);
		return 0;
	}
	b = mem_alloc(sizeof *b);
	raw_build_init(b);
	b->header.closed = data[0] % 4;
	b->command = "program";
	for (size_t i = 1; i + STEP <= size && i < 1000 * STEP; i += STEP)
		add_unit(b, data + i, &clock);
	raw_assemble(b, &file);
	must_read(&file);
	reading_check((const uint8_t *)file.s, file.n);
	raw_build_free(b);
	mem_free(b);
	str_free(&file);
	return 0;
}
