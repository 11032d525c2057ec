#include "runtime/sharing.h"

#include "runtime/rt.h"

enum { BITS = 22, NEAR_BITS = 6, MANY = UINT16_MAX, CELLS_MAX = 1 << 22 };

/* By hash of the cell: 1 + slot, or MANY. Neighbours stay neighbours: the cache likes it. */
static uint16_t *toucher;
static uint32_t touched; /* cells; beyond the limit it takes too long */

void sharing_begin(void)
{
	touched = 0;
	toucher = rt_pages(sizeof *toucher << BITS);
}

void sharing_end(void)
{
	if (toucher)
		rt_pages_free(toucher, sizeof *toucher << BITS);
	toucher = NULL;
}

static uint16_t *entry(uint64_t address)
{
	uint64_t cell = address >> 3;
	uint64_t group = (cell >> NEAR_BITS) * 0x9e3779b97f4a7c15ull >> (64 - BITS + NEAR_BITS);

	return &toucher[group << NEAR_BITS | (cell & ((1u << NEAR_BITS) - 1))];
}

void sharing_touch(uint32_t slot, uint64_t address, uint64_t size)
{
	for (uint64_t at = address & ~7ull; at < address + size; at += 8) {
		uint16_t *who;

		if (!toucher || touched++ >= CELLS_MAX)
			return;
		who = entry(at);
		*who = !*who || *who == slot + 1 ? (uint16_t)(slot + 1) : MANY;
	}
}

bool sharing_is_shared(uint64_t address, uint64_t size)
{
	if (!toucher || touched >= CELLS_MAX)
		return true;
	for (uint64_t at = address & ~7ull; at < address + size; at += 8)
		if (*entry(at) == MANY)
			return true;
	return false;
}
