#include "runtime/report/sharing.h"

#include <string.h>

#include "runtime/thread/state.h"

#include "base/banned.h"

enum { BITS = 21, NEAR_BITS = 6, MANY = UINT16_MAX, CELLS_MAX = 1 << 22 };

/*
 * By hash of the cell, where it was written: 1 + slot, or MANY. Neighbours stay neighbours: the
 * cache likes it. Its pages are kept: to get new ones costs more than to clear them.
 */
static uint16_t *toucher;
static uint32_t touched; /* cells; beyond the limit it takes too long */
static bool on;

void sharing_begin(void)
{
	touched = 0;
	if (toucher)
		memset(toucher, 0, sizeof *toucher << BITS);
	else
		toucher = rt_pages(sizeof *toucher << BITS);
	on = toucher != NULL;
}

void sharing_end(void)
{
	on = false;
}

static uint16_t *entry(uint64_t address)
{
	uint64_t cell = address >> 3;
	uint64_t group = (cell >> NEAR_BITS) * 0x9e3779b97f4a7c15ull >> (64 - BITS + NEAR_BITS);

	return &toucher[group << NEAR_BITS | (cell & ((1u << NEAR_BITS) - 1))];
}

static void touch(uint32_t slot, uint64_t address, uint64_t size, bool write)
{
	for (uint64_t at = address & ~7ull; at < address + size; at += 8) {
		uint16_t *who;

		if (!on || touched++ >= CELLS_MAX)
			return;
		who = entry(at);
		if (*who ? *who != slot + 1 && *who != MANY : write)
			*who = *who ? MANY : (uint16_t)(slot + 1);
	}
}

void sharing_write(uint32_t slot, uint64_t address, uint64_t size)
{
	touch(slot, address, size, true);
}

void sharing_read(uint32_t slot, uint64_t address, uint64_t size)
{
	touch(slot, address, size, false);
}

void sharing_want(uint64_t address)
{
	if (on)
		*entry(address) = MANY;
}

bool sharing_is_shared(uint64_t address, uint64_t size)
{
	if (!on || touched >= CELLS_MAX)
		return true;
	for (uint64_t at = address & ~7ull; at < address + size; at += 8)
		if (*entry(at) == MANY)
			return true;
	return false;
}
