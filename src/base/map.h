/*
 * A hash map from one or two 64-bit numbers to a 32-bit number. Entries are never removed. Zeroed
 * memory is an empty map; the first entry decides whether its keys have one number or two.
 *
 * Open addressing with linear probing; at most half of the slots are used. A slot of a map with
 * keys of one number is 16 bytes: in `predict` most of the memory is such maps.
 *
 * Tables that find a record of the caller's by its content (heldlocks.c, trace/names.c, ...) store
 * numbers of records instead of keys. They are not maps in this sense, and live where the records
 * are.
 */
#ifndef ATOMSAN_BASE_MAP_H
#define ATOMSAN_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map {
	uint64_t *slot; /* each is 1 + the value (0: empty), then the key's one or two numbers */
	size_t mask;    /* number of slots - 1; 0 while there are none */
	size_t n;
	size_t keys; /* numbers in a key */
};

struct map_entry {
	uint64_t a, b; /* the key; b is 0 if it has one number */
	uint32_t value;
};

/* Scramble a number: each bit of the result depends on each bit of `x`. */
static inline uint64_t map_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15ull;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

/* Not for callers. Returns the slot of a key, or the empty slot for it; the map must have slots. */
static inline uint64_t *map_slot(const struct map *m, size_t keys, uint64_t a, uint64_t b)
{
	size_t i = map_mix(keys == 1 ? a : a ^ b * 0xff51afd7ed558ccdull);

	for (;; i++) {
		uint64_t *s = m->slot + (i & m->mask) * (keys + 1);

		if (!s[0] || (s[1] == a && (keys == 1 || s[2] == b)))
			return s;
	}
}

/* Return the value of a key, or MAP_NONE. */
static inline uint32_t map_get(const struct map *m, uint64_t key)
{
	return m->mask ? (uint32_t)*map_slot(m, 1, key, 0) - 1 : MAP_NONE;
}

static inline uint32_t map_get2(const struct map *m, uint64_t a, uint64_t b)
{
	return m->mask ? (uint32_t)*map_slot(m, 2, a, b) - 1 : MAP_NONE;
}

/* Set the value of a key to a number below MAP_NONE; add the key if it is new. */
void map_set(struct map *m, uint64_t key, uint32_t value);
void map_set2(struct map *m, uint64_t a, uint64_t b, uint32_t value);

/*
 * Walk over the entries, in no particular order: with *at 0 at first, each call fills in the next
 * entry. Returns false after the last.
 */
bool map_next(const struct map *m, size_t *at, struct map_entry *e);

void map_free(struct map *m);

#endif
