/*
 * A small hash map from two numbers to one: what has been looked up already.
 *
 * Who may include this: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_MAP_H
#define ATOMSAN_SYMBOL_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct map_slot {
	uint64_t a, b;
	uint32_t value_plus_1; /* 0: empty */
};

struct map {
	struct map_slot *slot;
	size_t nslots, n; /* nslots: a power of two, or 0 */
};

static inline struct map_slot *map_find(const struct map *m, uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15ull ^ b) * 0xff51afd7ed558ccdull;
	size_t at = (size_t)(h >> 32) & (m->nslots - 1);

	while (m->slot[at].value_plus_1 && (m->slot[at].a != a || m->slot[at].b != b))
		at = (at + 1) & (m->nslots - 1);
	return &m->slot[at];
}

#define MAP_NONE UINT32_MAX

static inline uint32_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->nslots ? map_find(m, a, b)->value_plus_1 - 1 : MAP_NONE;
}

/* The key must be new. */
static inline void map_put(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	if (m->n >= m->nslots / 2) {
		struct map old = *m;

		m->nslots = old.nslots ? old.nslots * 2 : 64;
		m->slot = mem_zalloc(m->nslots * sizeof *m->slot);
		for (size_t i = 0; i < old.nslots; i++)
			if (old.slot[i].value_plus_1)
				*map_find(m, old.slot[i].a, old.slot[i].b) = old.slot[i];
		mem_free(old.slot);
	}
	*map_find(m, a, b) = (struct map_slot){a, b, value + 1};
	m->n++;
}

/* The key must be there. */
static inline void map_set(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	map_find(m, a, b)->value_plus_1 = value + 1;
}

static inline void map_free(struct map *m)
{
	mem_free(m->slot);
	*m = (struct map){0};
}

#endif
