#include "runtime/report/conflict_set.h"

#include <string.h>

#include "runtime/thread/state.h"

#include "base/banned.h"

enum {
	BITS = 21,           /* of the table's size */
	NEAR_BITS = 6,       /* 2^6 neighbouring cells have neighbouring entries */
	MANY = UINT16_MAX,   /* the cell is in the set */
	CELLS_MAX = 1 << 22, /* after so many additions the set contains everything */
};

/*
 * By hash of the cell: 0 if it was not written, 1 + the slot of its only thread, or MANY.
 * Neighbours stay neighbours, for the sake of the cache. The pages are kept, since clearing them
 * costs less than new ones.
 */
static uint16_t *table;
static uint32_t nadded; /* cells */
static bool on;         /* between begin and end, and there is a table */
static bool has_reads;  /* a read was added */

void conflict_set_begin(void)
{
	nadded = 0;
	has_reads = false;
	if (table)
		memset(table, 0, sizeof *table << BITS);
	else
		table = rt_pages(sizeof *table << BITS);
	on = table != NULL;
}

void conflict_set_end(void)
{
	on = false;
}

static uint16_t *entry_of(uint64_t address)
{
	uint64_t cell = address >> 3;
	uint64_t group = (cell >> NEAR_BITS) * 0x9e3779b97f4a7c15ull >> (64 - BITS + NEAR_BITS);

	return &table[group << NEAR_BITS | (cell & ((1u << NEAR_BITS) - 1))];
}

/* Past CELLS_MAX cells nothing is added: it would take too long. */
static void add_cells(uint32_t slot, uint64_t address, uint64_t size, bool write)
{
	for (uint64_t at = address & ~7ull; at < address + size; at += 8) {
		uint16_t *entry;

		if (!on || nadded++ >= CELLS_MAX)
			return;
		entry = entry_of(at);
		if (*entry ? *entry != slot + 1 && *entry != MANY : write)
			*entry = *entry ? MANY : (uint16_t)(slot + 1);
	}
}

void conflict_set_add_write(uint32_t slot, uint64_t address, uint64_t size)
{
	RT_ASSERT(!has_reads);
	add_cells(slot, address, size, true);
}

void conflict_set_add_read(uint32_t slot, uint64_t address, uint64_t size)
{
	has_reads = true;
	add_cells(slot, address, size, false);
}

void conflict_set_add_lock(uint64_t address)
{
	if (on)
		*entry_of(address) = MANY;
}

bool conflict_set_has(uint64_t address, uint64_t size)
{
	if (!on || nadded >= CELLS_MAX)
		return true;
	for (uint64_t at = address & ~7ull; at < address + size; at += 8)
		if (*entry_of(at) == MANY)
			return true;
	return false;
}
