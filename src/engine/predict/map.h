/*
 * From a 64-bit key to a small number: open addressing, power-of-two size,
 * nothing is ever taken out. Zeroed memory is an empty map.
 *
 * Who may include this: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_MAP_H
#define ATOMSAN_ENGINE_PREDICT_MAP_H

#include <stdint.h>

#include "base/mem.h"

#define PREDICT_MAP_NONE UINT32_MAX

struct predict_map_slot {
	uint64_t key;
	uint32_t value_plus_1; /* 0: empty */
};

struct predict_map {
	struct predict_map_slot *slot;
	uint64_t mask; /* slots - 1; 0 at first */
	uint64_t n;
};

static inline uint64_t predict_map_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	key ^= key >> 29;
	key *= 0xbf58476d1ce4e5b9ull;
	return key ^ key >> 32;
}

static inline struct predict_map_slot *predict_map_slot(const struct predict_map *m, uint64_t key)
{
	uint64_t i = predict_map_hash(key) & m->mask;

	while (m->slot[i].value_plus_1 && m->slot[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slot[i];
}

static inline uint32_t predict_map_get(const struct predict_map *m, uint64_t key)
{
	return m->mask ? predict_map_slot(m, key)->value_plus_1 - 1 : PREDICT_MAP_NONE;
}

/* Add a key, or give it another number; the number is below PREDICT_MAP_NONE. */
static inline void predict_map_set(struct predict_map *m, uint64_t key, uint32_t value)
{
	struct predict_map_slot *slot;

	if (m->n * 2 >= m->mask) {
		struct predict_map old = *m;
		uint64_t slots = m->mask ? 2 * (m->mask + 1) : 64;

		m->slot = mem_zalloc(slots * sizeof *m->slot);
		m->mask = slots - 1;
		for (uint64_t i = 0; old.mask && i <= old.mask; i++)
			if (old.slot[i].value_plus_1)
				*predict_map_slot(m, old.slot[i].key) = old.slot[i];
		mem_free(old.slot);
	}
	slot = predict_map_slot(m, key);
	m->n += !slot->value_plus_1;
	*slot = (struct predict_map_slot){key, value + 1};
}

static inline void predict_map_free(struct predict_map *m)
{
	mem_free(m->slot);
	*m = (struct predict_map){0};
}

#endif
