/*
 * Makes a raw recording from a recipe, 8 bytes for each unit: its chunks are valid, whatever the
 * bytes.
 *
 * Included by: fuzz_raw.c, fuzz_live.c.
 */
#ifndef ATOMSAN_FUZZ_RAW_RECIPE_H
#define ATOMSAN_FUZZ_RAW_RECIPE_H

#include "../unit/raw_builder.h"

enum { RECIPE_THREADS = 8, RECIPE_STEP = 8 };

/* Addresses near each other, on two pages, on stacks, at both ends of the address space. */
static const uint64_t recipe_places[8] = {
	0x10000, 0x10ff0, 0x5555000, 0x7fff0000, 0x7fffffff0000, 0x7fffffffff80, 0xffffffffff80, 0,
};
static const uint64_t recipe_sizes[8] = {0, 1, 8, 100, 4096, 70000, 1ull << 33, UINT64_MAX};

static inline void recipe_add(struct raw_build *b, const uint8_t p[RECIPE_STEP], uint32_t *clock)
{
	static const char text[] = "8192 0123456789abcdef /a/program";
	uint32_t op = p[0], thread = p[1] % RECIPE_THREADS, aux = p[2], pc = 0x1000u + p[7] % 16;
	uint64_t address = recipe_places[p[3] % 8] + p[4];

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
		raw_put_size(b, thread, *clock, op, address, recipe_sizes[p[5] % 8] + aux, pc);
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
		raw_put(b, thread, *clock, op, p[4] % (RECIPE_THREADS + 1), aux, pc);
		return;
	default:
		raw_put(b, thread, *clock, op, address, aux, pc);
	}
}

#endif
