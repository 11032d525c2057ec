/*
 * Raw recordings. Bytes that begin like one are read as they are. Any others are a
 * recipe, 8 bytes for each unit, for a recording with valid chunks: it must never be
 * refused, whatever its threads do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw_recipe.h"
#include "reading.h"
#include "trace/reader.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the recording to its end; there must be no error. */
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
	for (size_t i = 1; i + RECIPE_STEP <= size && i < 1000 * RECIPE_STEP; i += RECIPE_STEP)
		recipe_add(b, data + i, &clock);
	raw_assemble(b, &file);
	must_read(&file);
	reading_check((const uint8_t *)file.s, file.n);
	raw_build_free(b);
	mem_free(b);
	str_free(&file);
	return 0;
}
